// The verdicts on a node: judges everything that profiling depends on, from facts (node_facts.h). Pure.
#pragma once

#include <vector>

#include "daemon/collector/inspect/node_facts.h"
#include "daemon/trace/check.h"

namespace ptrace_prof {

std::vector<Check> JudgeNode(const NodeFacts& facts);

}  // namespace ptrace_prof
