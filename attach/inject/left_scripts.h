// Scripts that a collector which was killed has asked the threads of a target to run (script_strategy.cc): they are
// asked no more, and the file goes.
#pragma once

#include "attach/base/result.h"
#include "attach/inject/injection_target.h"
#include "attach/inject/timed_stop.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// One stop where there is such a script, none else. kAlreadyExists: its collector lives.
Result<void> RemoveLeftScripts(const InjectionTarget& target, RemoteMemory& memory, StopCost& cost);

}  // namespace ptrace_prof
