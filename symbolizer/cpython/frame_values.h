// Finds the local variables of a frame: their names and their values.
//
// Does not stop the target: the values of a running thread may have changed meanwhile. Bounded. Plain function.
#pragma once

#include <vector>

#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/frame_walker.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

struct FrameValue {
  RemoteAddr name;  // a str
  RemoteAddr value;
  bool is_argument = false;
};

// Those that are assigned; what is in a cell is taken out. Empty: the layout does not say where they are.
std::vector<FrameValue> ReadFrameValues(RemoteMemory& memory, const Layout& layout, const RawFrame& frame);

}  // namespace ptrace_prof
