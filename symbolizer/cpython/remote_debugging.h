// Whether a job wants to be debugged from outside (PEP 768, 3.14 and later): it can say no by -X disable_remote_debug,
// PYTHON_DISABLE_REMOTE_DEBUG, or how it was built. Reads one word of the target.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

// True for a version in which it cannot say so. kDataLoss: it says neither yes nor no.
Result<bool> RemoteDebuggingAllowed(RemoteMemory& memory, const PythonProcess& process, RemoteAddr interpreter);

}  // namespace ptrace_prof
