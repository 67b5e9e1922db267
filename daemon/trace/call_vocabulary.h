// The fixed interning ids for the marks of slices in a sequence of calls, shared by TraceWriter and TraceReader.
//
// The writer defines them on every sequence all the same, because Perfetto shows their names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "daemon/trace/call.h"

namespace ptrace_prof {

// Categories at a slice's begin, by CallEntry; the first has none. The iid is the index.
inline constexpr std::array<std::string_view, kCallEntryCount> kEntryCategories = {"", "resumed", "thrown into",
                                                                                   "running before", "lost"};

// Debug annotations at a slice's end, by CallExit; the first has none. The iid is the index.
struct ExitNote {
  std::string_view name;
  bool value;
};
inline constexpr std::array<ExitNote, kCallExitCount> kExitNotes = {
    ExitNote{"", false}, {"suspended", true}, {"unwound", true}, {"finished", false}, {"lost", true}};
// The number of lost events, at the begin of the slice that stands for them.
inline constexpr uint32_t kLostCountNote = kCallExitCount;
inline constexpr std::string_view kLostCountName = "events";

inline constexpr std::string_view kStepPrefix = "ProfilerStep#";

}  // namespace ptrace_prof
