// How long ago a capture ended, by a clock that nobody sets: what is kept for so long is not forgotten because the
// machine's date jumps.
#pragma once

#include <algorithm>
#include <optional>

#include "attach/base/types.h"

namespace ptrace_prof {

class TraceAge {
 public:
  TraceAge() = default;  // ends while we are there
  // Ended before we were: that long ago by the date, which is all that is known then. Negative: it lies ahead.
  explicit TraceAge(Nanos before) : before_(std::max(before, Nanos())) {}

  // To be asked soon after the end, and again: it counts from then on. `now`: CLOCK_MONOTONIC, so that nothing grows
  // older while the machine is suspended.
  Nanos At(Nanos now) {
    if (!since_.has_value()) {
      since_ = now - before_;
    }
    return now - *since_;
  }

 private:
  Nanos before_;
  std::optional<Nanos> since_;
};

}  // namespace ptrace_prof
