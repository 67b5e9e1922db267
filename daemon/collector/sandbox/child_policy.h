// Reasons of the administrator's policy against following a process, for the collector, which got the rules.
//
// Facts are read with the collector's rights; a fact that cannot be read matches a rule that denies. Pure apart from
// /proc.
#pragma once

#include <optional>
#include <string>

#include "attach/base/types.h"
#include "daemon/server/policy/policy.h"

namespace ptrace_prof {

// The reason, as the end of a sentence about the process; nullopt: it may be followed, or it is gone.
std::optional<std::string> WhyNotFollow(const Policy& rules, Pid pid);

}  // namespace ptrace_prof
