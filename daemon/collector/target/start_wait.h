// Waits for an interpreter that has only just begun: nothing can be brought into one that cannot import yet.
#pragma once

#include <functional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/run_call.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/target/opened_process.h"

namespace ptrace_prof {

// For Patience::is_ready. kGone: the process has execed since `process` was opened, be it the same program once more,
// and what would be brought in calls functions by addresses of before. False: the interpreter still starts; one that
// has been there for long may do without the modules that tell.
std::function<Result<bool>()> StartedStill(Pid pid, RemoteMemory& memory, const OpenedProcess& process);

// Until patience.is_ready. kPythonNotStarted: not until the patience ended. kCancelled: go_on.
Result<void> AwaitStart(Pid pid, const Patience& patience);

}  // namespace ptrace_prof
