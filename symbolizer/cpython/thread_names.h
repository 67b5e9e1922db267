// Python's own thread names: threading._active, read from the target without running anything in it.
//
// Slow (hundreds of reads): call it when a thread appears and occasionally, never per sample.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

// pthread ident → name, for one interpreter. Empty if `threading` was never imported.
std::unordered_map<uint64_t, std::string> ReadThreadNames(RemoteMemory& memory, const Layout& layout,
                                                          RemoteAddr interpreter);

}  // namespace ptrace_prof
