// Whether a thread waits in the kernel in a call that creates no thread, process or program. Other processes then see
// no effect of it until it continues. Uses `syscall` of /proc, see proc(5); that file says "running" for a runnable
// thread.
#pragma once

#include "attach/base/types.h"

namespace ptrace_prof {

// Also false if it is unknown. A vfork that waits for its child's exec has already made the child, and waits quietly.
bool WaitsQuietly(Pid pid, Tid tid);

}  // namespace ptrace_prof
