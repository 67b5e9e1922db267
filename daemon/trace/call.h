// The words in which a trace tells of exact calls: how a call's slice begins and how it ends.
//
// Slices of one thread are strictly nested; a call that is suspended (a generator, a coroutine) is a slice for each
// stretch in which it ran, held together by its GeneratorId. Pure data, the same for TraceWriter and TraceReader.
#pragma once

#include <cstdint>
#include <string_view>

#include "attach/base/types.h"

namespace ptrace_prof {

enum class CallEntry : uint8_t {
  kCall,     // from its first instruction
  kResume,   // a generator or coroutine goes on after a suspension
  kThrow,    // the same, by an exception that is thrown into it
  kRunning,  // it ran already when the recording of its thread began
  kGap,      // no call: stands for events that were lost, or would have been had the thread not waited
};
inline constexpr size_t kCallEntryCount = 5;

enum class CallExit : uint8_t {
  kReturn,
  kYield,   // suspended, to be resumed perhaps
  kUnwind,  // left by an exception
  kCut,     // the recording ends, the call does not
  kLost,    // it ended in a gap, nobody knows when: shown until the gap begins
};
inline constexpr size_t kCallExitCount = 5;

// One generator or coroutine among all of a process; 0 = the call is none, or it is not known which.
using GeneratorId = StrongId<struct GeneratorIdTag, uint64_t>;

// The function whose slice stands for events that were lost.
inline constexpr std::string_view kLostMarker = "[events lost]";
// The same of time for which the thread waited, so that none was.
inline constexpr std::string_view kHeldMarker = "[held back by the tracer]";

// Does a slice that begins so count as a call of the function within the recording?
constexpr bool IsNewCall(CallEntry entry) { return entry == CallEntry::kCall; }

}  // namespace ptrace_prof
