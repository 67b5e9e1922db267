// The process groups of torch.distributed in a process, read from outside and without a stop: what torch.profiler says
// of them in its JSON (distributedInfo), as far as Python knows it. The rank is the environment's affair.
#pragma once

#include <string>

#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

// A JSON object: backend and world_size of the default group, pg_count, and pg_config, unless it would be very long.
// Empty: there are no groups, or they could not be read.
std::string ReadProcessGroups(RemoteMemory& memory, const PythonProcess& python);

}  // namespace ptrace_prof
