// How the slice of an exact call begins and ends in a trace.
//
// Slices of one thread are strictly nested. A call that is suspended (a generator, a coroutine) has a slice for each
// stretch in which it ran, and its GeneratorId joins these slices. Plain data, used by TraceWriter and TraceReader.
#pragma once

#include <cstdint>
#include <string_view>

#include "attach/base/types.h"

namespace ptrace_prof {

enum class CallEntry : uint8_t {
  kCall,     // from its first instruction
  kResume,   // a generator or coroutine continues after a suspension
  kThrow,    // the same, by an exception that is thrown into it
  kRunning,  // it ran already when the recording of its thread began
  kGap,      // no call: stands for lost events, or for time in which the thread waited so that none were lost
};
inline constexpr size_t kCallEntryCount = 5;

enum class CallExit : uint8_t {
  kReturn,
  kYield,   // suspended, and may be resumed
  kUnwind,  // left by an exception
  kCut,     // the recording ends, the call does not
  kLost,    // it ended at an unknown time in a gap: shown until the gap begins
};
inline constexpr size_t kCallExitCount = 5;

// Identifies a generator or coroutine within a process; 0 = the call is none, or it is unknown which one.
using GeneratorId = StrongId<struct GeneratorIdTag, uint64_t>;

// The name of the slice that stands for lost events.
inline constexpr std::string_view kLostMarker = "[events lost]";
// The name of the slice for time in which the thread waited so that no event was lost.
inline constexpr std::string_view kHeldMarker = "[held back by the tracer]";

// Returns whether a slice that begins this way counts as a new call of its function.
constexpr bool IsNewCall(CallEntry entry) { return entry == CallEntry::kCall; }

}  // namespace ptrace_prof
