// How long sampling rounds take, from which the interval of the rate `max` is made.
//
// A round takes longer where the target makes many calls. If each round began when the last one ended, such code would
// be sampled too seldom. So rounds begin at intervals that rounds keep on average everywhere in the target; a long
// round is made up for by its neighbours. Short stretches of rounds are therefore compared, each without its longest
// round, which the machine may have delayed. The whole recording counts, so that the interval does not follow phases of
// the target; old values are forgotten slowly, by halves. Fixed size. One thread.
#pragma once

#include <array>
#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

class RoundTimes {
 public:
  static constexpr int64_t kStretch = 16;  // rounds

  void Add(Nanos round);

  // The mean round of all but the slowest 1/32 of the stretches, rounded up by at most an eighth; 0 before any stretch.
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
