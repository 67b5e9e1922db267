// Counts how long threads of the target were stopped by us: number, sum, longest, and quantiles.
//
// Measured by the collector's clock from request to release; the target sees a little less. A bucket is an eighth of an
// octave, so a quantile is at most 9 % too high. Fixed size; can be added up. Plain value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

class StopTimes {
 public:
  void Add(Nanos stop);
  void Add(const StopTimes& more);

  uint64_t count() const { return count_; }
  Nanos total() const { return total_; }
  Nanos longest() const { return longest_; }
  // The time that `share` of all stops did not exceed; 0 if there was none.
  Nanos Quantile(double share) const;

 private:
  static constexpr int kStepsPerOctave = 8;
  static constexpr size_t kBuckets = 40 * kStepsPerOctave;

  uint64_t count_ = 0;
  Nanos total_;
  Nanos longest_;
  std::array<uint32_t, kBuckets> buckets_{};
};

}  // namespace ptrace_prof
