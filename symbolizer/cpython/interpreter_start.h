// Whether an interpreter has come so far that code can be brought into it: a few milliseconds after its structures are
// there, when the modules that such code needs are. Reads the target without stopping it; stateless.
#pragma once

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

// False: not yet, or it cannot be seen.
bool HasStarted(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter);

}  // namespace ptrace_prof
