// Frames of generators and coroutines that are only being made.
//
// From 3.11 on the call of a generator function pushes a frame as any call does; its first instruction but for those
// that make cells moves it into the generator and takes it off the stack. Nobody is told of that, neither of a begin
// nor of an end. A generator that runs has a frame that belongs to it. Reads the target, which must stand.
#pragma once

#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/frame_walker.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

// False where it cannot be: before 3.11, or further on in its code than such a frame comes.
bool IsUnborn(RemoteMemory& memory, const Layout& layout, const RawFrame& frame);

}  // namespace ptrace_prof
