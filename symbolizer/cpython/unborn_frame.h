// Detects frames of generators and coroutines that are still being created.
//
// From 3.11 on the call of a generator function pushes a frame like any call. After the instructions that make cells,
// its next instruction moves the frame into the generator and removes it from the stack. No event reports its begin or
// end. The frame of a running generator belongs to the generator. Reads the target, which must be stopped.
#pragma once

#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/frame_walker.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

// Returns false if that is impossible: before 3.11, or later in the code than such a frame can be.
bool IsUnborn(RemoteMemory& memory, const Layout& layout, const RawFrame& frame);

}  // namespace ptrace_prof
