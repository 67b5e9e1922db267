// Waits for an interpreter that is still starting: the stub cannot be loaded before it can import modules.
#pragma once

#include <functional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/run_call.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/target/opened_process.h"

namespace ptrace_prof {

// For Patience::is_ready. kGone: the process has exec'ed since `process` was opened, be it the same program, so the
// addresses of the functions to call are no longer valid. False: the interpreter is still starting. One that has run
// for long counts as started, because it may lack the modules that show it.
std::function<Result<bool>()> StartedStill(Pid pid, RemoteMemory& memory, const OpenedProcess& process);

// Waits until patience.is_ready. kPythonNotStarted: the patience ended first. kCancelled: go_on returned false.
Result<void> AwaitStart(Pid pid, const Patience& patience);

}  // namespace ptrace_prof
