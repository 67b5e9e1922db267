// The fields of _Py_DebugOffsets in order, for each minor that has it. Pure data; used only by debug_offsets.cc,
// remote_debugging.cc and tests. The entries start behind the cookie, the version and the free-threaded flag; each is
// one u64.
#pragma once

#include <span>
#include <string_view>

#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

struct DebugOffsetsEntry {
  std::string_view name;   // "thread_state.current_frame"
  uint32_t Layout::*slot;  // nullptr: not imported directly
};

// Empty for an unknown minor.
std::span<const DebugOffsetsEntry> DebugOffsetsEntries(PythonVersion version);

}  // namespace ptrace_prof
