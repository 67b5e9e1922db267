// Whether an interpreter has started far enough for an injection: when the modules that injected code needs are there,
// a few milliseconds after its structures. Reads the target without stopping it; stateless.
#pragma once

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

// False: not yet, or it cannot be read.
bool HasStarted(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter);

}  // namespace ptrace_prof
