// From the clock of a target's records to CLOCK_MONOTONIC: one straight line, which TickClock renews.
//
// Plain value, made for the millions: a multiplication each. Any ticks are taken, because a target may write anything.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

struct TickMap {
  uint64_t ticks = 0;                           // at this instant
  Nanos at;                                     // it was this time
  uint64_t nanos_per_tick = uint64_t{1} << 32;  // in units of 2^-32

  // Records that hold nanoseconds of CLOCK_MONOTONIC already.
  static constexpr TickMap Monotonic() { return {}; }

  Nanos ToNanos(uint64_t tick) const {
    constexpr __int128 kLimit = INT64_MAX / 4;
    const auto delta = static_cast<__int128>(static_cast<int64_t>(tick - ticks));
    const __int128 nanos = (delta * static_cast<__int128>(nanos_per_tick) >> 32) + at.value;
    return Nanos(static_cast<int64_t>(std::clamp<__int128>(nanos, 0, kLimit)));
  }
};

}  // namespace ptrace_prof
