// Does a thread wait in the kernel where it makes no other thread, process or program? Then nothing of it can be seen
// by others until it goes on. From `syscall` of /proc, see proc(5); that file says "running" of one that could run.
#pragma once

#include "attach/base/types.h"

namespace ptrace_prof {

// False also where it cannot be told. A vfork that waits for its child's exec has made it, and waits quietly.
bool WaitsQuietly(Pid pid, Tid tid);

}  // namespace ptrace_prof
