// The time since a capture ended, by a clock that cannot be set, so that a jump of the machine's date deletes no trace.
#pragma once

#include <algorithm>
#include <optional>

#include "attach/base/types.h"

namespace ptrace_prof {

class TraceAge {
 public:
  TraceAge() = default;  // for a capture that ends during our life
  // For a capture that ended before our start; `before` comes from the date, as nothing else is known. Negative: in the
  // future.
  explicit TraceAge(Nanos before) : before_(std::max(before, Nanos())) {}

  // Call it soon after the end, and again later: the age counts from the first call. `now`: CLOCK_MONOTONIC, which does
  // not advance while the machine is suspended.
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
