// Checks whether there is a _PyRuntime at an address, by its pointers: interpreter → thread state → interpreter.
#pragma once

#include <cstdint>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

enum class RuntimeState : uint8_t {
  kRunning,     // at least one interpreter with a thread state that belongs to it
  kNotStarted,  // no interpreter yet, or one without a thread state
  kEnding,      // it is marked as being finalized
  kNotARuntime,
};

RuntimeState CheckRuntime(RemoteMemory& memory, const Layout& layout, RemoteAddr runtime);

}  // namespace ptrace_prof
