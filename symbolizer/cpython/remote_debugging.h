// What a job lets be done to it from outside (PEP 768, 3.14 and later): whether it wants to be debugged at all (it can
// say no by -X disable_remote_debug, PYTHON_DISABLE_REMOTE_DEBUG, or how it was built), and where its threads are asked
// to run a script. Reads a few words of the target; stateless.
#pragma once

#include <optional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "attach/proc/script_requests.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

// True for a version in which it cannot say so. kDataLoss: it says neither yes nor no.
Result<bool> RemoteDebuggingAllowed(RemoteMemory& memory, const PythonProcess& process, RemoteAddr interpreter);

// Nothing: the version has no such thing. kDataLoss: what its debug offsets lead to is nothing of the kind.
Result<std::optional<ScriptRequests>> FindScriptRequests(RemoteMemory& memory, const PythonProcess& process,
                                                         RemoteAddr interpreter);

}  // namespace ptrace_prof
