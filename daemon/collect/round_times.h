// How long rounds of sampling take: what the rate `max` makes its interval of.
//
// A round takes longer where the target makes many calls. If each round began when the one before it ended, such code
// would be sampled less often than it runs; so rounds begin at intervals that nearly all of them keep. The whole
// recording counts, not the last moments, so that the interval does not follow the target's phases; the past is
// forgotten slowly, by halves. Fixed size. One thread.
#pragma once

#include <array>
#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

class RoundTimes {
 public:
  void Add(Nanos round);

  // The time that all but one of thirty-two rounds kept, rounded up by at most an eighth; none yet: 0.
  Nanos Usual() const;

 private:
  static constexpr int kStepsPerOctave = 8;
  static constexpr uint64_t kForgetAt = 1 << 20;

  std::array<uint32_t, 40 * kStepsPerOctave> counts_{};
  uint64_t total_ = 0;
};

}  // namespace ptrace_prof
