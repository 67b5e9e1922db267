#include "daemon/collector/sample/round_times.h"

#include <algorithm>
#include <bit>

namespace ptrace_prof {
namespace {

constexpr Nanos kLongestRound = Nanos::FromSeconds(3600);  // bounds the sum whatever is passed in

}  // namespace

void RoundTimes::Add(Nanos round) {
  round = std::clamp(round, Nanos(), kLongestRound);
  sum_ = sum_ + round;
  longest_ = std::max(longest_, round);
  if (++rounds_ == kStretch) {
    AddStretch(Nanos((sum_ - longest_).value / (kStretch - 1)));
    sum_ = longest_ = Nanos();
    rounds_ = 0;
  }
}

// A slot is an octave's number and the three bits below the highest bit.
void RoundTimes::AddStretch(Nanos mean) {
  const auto value = static_cast<uint64_t>(std::max<int64_t>(mean.value, kStepsPerOctave));
  const int shift = std::bit_width(value) - std::bit_width(static_cast<unsigned>(kStepsPerOctave));
  const auto slot = static_cast<size_t>(shift * kStepsPerOctave) + ((value >> shift) - kStepsPerOctave);
  ++counts_[std::min(slot, counts_.size() - 1)];
  if (++total_ == kForgetAt) {
    total_ = 0;
    for (uint32_t& count : counts_) {
      count /= 2;
      total_ += count;
    }
  }
}

Nanos RoundTimes::Usual() const {
  uint64_t longer = 0;
  size_t slot = counts_.size();
  while (slot > 0 && longer + counts_[slot - 1] <= total_ / 32) {
    longer += counts_[--slot];
  }
  const size_t shift = slot / kStepsPerOctave;
  return total_ == 0 ? Nanos(0) : Nanos(static_cast<int64_t>((slot % kStepsPerOctave + kStepsPerOctave) << shift));
}

}  // namespace ptrace_prof
