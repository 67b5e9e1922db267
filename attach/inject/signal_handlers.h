// Whether a job has signal handlers of its own, which may raise while a text of ours runs in it.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

// The kernel's present state (SigCgt of /proc/PID/status). kGone, kPermissionDenied.
Result<bool> HasSignalHandlers(Pid pid);

}  // namespace ptrace_prof
