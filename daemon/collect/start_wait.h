// Waits for an interpreter that has only just begun: nothing can be brought into one that cannot import yet.
#pragma once

#include <functional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/run_call.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collect/opened_process.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

// kPythonNotStarted: it has not got there until the patience ended. kCancelled: go_on. A process that has been there
// for long has started, whatever it has made of its modules.
Result<void> AwaitStart(Pid pid, RemoteMemory& memory, const PythonProcess& python, const Patience& patience);

// For Patience::is_ready: a process that execs the same program once more is at its beginning again, and what is known
// of it may still fit. One that has been there for long may do without such modules.
// It is not asked for modules then, but for being the program that was described: what is brought in calls functions by
// their addresses.
std::function<bool()> StartedStill(Pid pid, RemoteMemory& memory, const OpenedProcess& process);

}  // namespace ptrace_prof
