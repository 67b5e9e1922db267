// From the clock of a target's records to CLOCK_MONOTONIC: one straight line, which TickClock renews.
//
// Plain value, made for the millions: a multiplication each. Any ticks are taken, because a target may write anything;
// of a record's, whose upper bits are gone, those that are nearest to `ticks` are meant.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attach/abi/record.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct TickMap {
  uint64_t ticks = 0;                           // at this instant
  Nanos at;                                     // it was this time
  uint64_t nanos_per_tick = uint64_t{1} << 32;  // in units of 2^-32

  // Records that hold nanoseconds of CLOCK_MONOTONIC already; it is about `now`.
  static constexpr TickMap Monotonic(Nanos now = {}) { return {static_cast<uint64_t>(now.value), now}; }

  Nanos ToNanos(uint64_t tick) const {
    constexpr __int128 kLimit = INT64_MAX / 4;
    const auto delta = static_cast<__int128>(static_cast<int64_t>((tick - ticks) << PP_TAG_BITS) >> PP_TAG_BITS);
    const __int128 nanos = (delta * static_cast<__int128>(nanos_per_tick) >> 32) + at.value;
    return Nanos(static_cast<int64_t>(std::clamp<__int128>(nanos, 0, kLimit)));
  }
};

}  // namespace ptrace_prof
