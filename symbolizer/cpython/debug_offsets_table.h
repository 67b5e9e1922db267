// The fields of _Py_DebugOffsets in their order, for each minor that has it. Pure data; known only to
// debug_offsets.cc and its tests. The entries start behind the cookie, the version and the free-threaded flag; each
// is one u64.
#pragma once

#include <span>
#include <string_view>

#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

struct DebugOffsetsEntry {
  std::string_view name;   // "thread_state.current_frame"
  uint32_t Layout::*slot;  // nullptr: not imported as it stands
};

// Empty for a minor that we do not know.
std::span<const DebugOffsetsEntry> DebugOffsetsEntries(PythonVersion version);

}  // namespace ptrace_prof
