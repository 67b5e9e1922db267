// For how much of a capture the GPU was not recorded: until CUPTI came up, after it ended early, and while times were
// uncertain because a clock was set.
//
//   Open ── Begin ══ recorded ══ End (before the capture does) ── Close (the capture's end)
//
// Without Begin nothing was recorded. Times come from a target and may be anything. One per target; one thread.
#pragma once

#include <algorithm>

#include "attach/base/types.h"

namespace ptrace_prof {

class GpuCoverage {
 public:
  void Open(Nanos when) { opened_ = when; }
  void Begin(Nanos when) { begun_ = when; }
  void End(Nanos when) { ended_ = std::min(ended_, when); }
  void Close(Nanos when) { closed_ = std::min(closed_, when); }

  // Up to `now`. `unsure`: the time between the readings around each step of the clock.
  Nanos Missing(Nanos now, Nanos unsure) const {
    const Nanos end = std::min(now, closed_);
    const Nanos whole = end - std::min(opened_, end);
    const Nanos from = std::clamp(begun_, std::min(opened_, end), end);
    const Nanos to = std::clamp(ended_, from, end);
    return std::min(whole, whole - (to - from) + unsure);
  }

 private:
  Nanos opened_;
  Nanos begun_{INT64_MAX};
  Nanos ended_{INT64_MAX};
  Nanos closed_{INT64_MAX};
};

}  // namespace ptrace_prof
