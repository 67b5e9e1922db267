// A dump as JSON for programs, with the schema "ptrace-prof.dump/1" (docs/cli.md). Within schema 1 fields may be added,
// but never changed or removed. Pure function.
#pragma once

#include <span>
#include <string>

#include "daemon/trace/read/thread_dump.h"

namespace ptrace_prof {

std::string DumpJson(std::span<const DumpedProcess> processes);

}  // namespace ptrace_prof
