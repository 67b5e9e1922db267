// A dump for programs: JSON of the schema "ptrace-prof.dump/1", described in docs/cli.md. Within schema 1 fields may
// be added, never changed or removed. Pure function.
#pragma once

#include <span>
#include <string>

#include "daemon/trace/read/thread_dump.h"

namespace ptrace_prof {

std::string DumpJson(std::span<const DumpedProcess> processes);

}  // namespace ptrace_prof
