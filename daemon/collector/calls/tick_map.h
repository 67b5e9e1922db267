// Converts the clock of a target's records to CLOCK_MONOTONIC: one straight line, which TickClock renews.
//
// Plain value, made for millions of events: a multiplication each. Accepts any ticks, because a target may write
// anything. The ticks of a record lack their upper bits; the value nearest to `ticks` is meant.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attach/abi/record.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct TickMap {
  uint64_t ticks = 0;                           // a point of the line
  Nanos at;                                     // its time
  uint64_t nanos_per_tick = uint64_t{1} << 32;  // in units of 2^-32

  // For records in nanoseconds of CLOCK_MONOTONIC; `now` is about their time.
  static constexpr TickMap Monotonic(Nanos now = {}) { return {static_cast<uint64_t>(now.value), now}; }

  Nanos ToNanos(uint64_t tick) const {
    constexpr __int128 kLimit = INT64_MAX / 4;
    const auto delta = static_cast<__int128>(static_cast<int64_t>((tick - ticks) << PP_TAG_BITS) >> PP_TAG_BITS);
    const __int128 nanos = (delta * static_cast<__int128>(nanos_per_tick) >> 32) + at.value;
    return Nanos(static_cast<int64_t>(std::clamp<__int128>(nanos, 0, kLimit)));
  }
};

}  // namespace ptrace_prof
