// Traces of exact calls for perfetto_test.py: NAME.pftrace, and every slice of it in NAME.slices.json.
#pragma once

#include <string>

namespace ptrace_prof {

void MakeCallTraces(const std::string& folder);

}  // namespace ptrace_prof
