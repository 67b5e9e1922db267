// Removes scripts that a killed collector asked the threads of a target to run (script_strategy.cc): clears the
// requests, and removes the file.
#pragma once

#include "attach/base/result.h"
#include "attach/inject/injection_target.h"
#include "attach/inject/timed_stop.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// Stops the target once if there is such a script, otherwise not at all. kAlreadyExists: its collector is alive.
Result<void> RemoveLeftScripts(const InjectionTarget& target, RemoteMemory& memory, StopCost& cost);

}  // namespace ptrace_prof
