// How long rounds of sampling take: what the rate `max` makes its interval of.
//
// A round takes longer where the target makes many calls. If each round began when the one before it ended, such code
// would be sampled less often than it runs; so rounds begin at intervals that rounds keep on average, wherever in the
// target they are: what one takes longer, those near it make up for. So it is short stretches of rounds that are
// compared, each without its longest one, which the machine may have held up. The whole recording counts, not the last
// moments, so that the interval does not follow the target's phases; the past is forgotten slowly, by halves. Fixed
// size. One thread.
#pragma once

#include <array>
#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

class RoundTimes {
 public:
  static constexpr int64_t kStretch = 16;  // rounds

  void Add(Nanos round);

  // What rounds took on average in all stretches but one of thirty-two, rounded up by at most an eighth; none yet: 0.
  Nanos Usual() const;

 private:
  static constexpr int kStepsPerOctave = 8;
  static constexpr uint64_t kForgetAt = 1 << 16;

  void AddStretch(Nanos mean);

  Nanos sum_;  // of the present stretch
  Nanos longest_;
  int64_t rounds_ = 0;
  std::array<uint32_t, 40 * kStepsPerOctave> counts_{};
  uint64_t total_ = 0;
};

}  // namespace ptrace_prof
