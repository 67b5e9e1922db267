// The remote debugging interface of a job (PEP 768, 3.14 and later): whether the job allows debugging (it can refuse by
// -X disable_remote_debug, PYTHON_DISABLE_REMOTE_DEBUG, or its build), and the fields for asking its threads to run a
// script. Reads a few words of the target; stateless.
#pragma once

#include <optional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "attach/proc/script_requests.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

// True for a version without this setting. kDataLoss: the value is neither yes nor no.
Result<bool> RemoteDebuggingAllowed(RemoteMemory& memory, const PythonProcess& process, RemoteAddr interpreter);

// nullopt: the version has no such interface. kDataLoss: the memory at its debug offsets is inconsistent.
Result<std::optional<ScriptRequests>> FindScriptRequests(RemoteMemory& memory, const PythonProcess& process,
                                                         RemoteAddr interpreter);

}  // namespace ptrace_prof
