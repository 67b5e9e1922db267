#include "daemon/collector/sample/stop_times.h"

#include <algorithm>
#include <cmath>

namespace ptrace_prof {

void StopTimes::Add(Nanos stop) {
  ++count_;
  total_ = total_ + stop;
  longest_ = std::max(longest_, stop);
  const double octaves = std::log2(static_cast<double>(std::max<int64_t>(stop.value, 1)));
  ++buckets_[std::min(static_cast<size_t>(octaves * kStepsPerOctave), kBuckets - 1)];
}

void StopTimes::Add(const StopTimes& more) {
  count_ += more.count_;
  total_ = total_ + more.total_;
  longest_ = std::max(longest_, more.longest_);
  for (size_t i = 0; i < kBuckets; ++i) {
    buckets_[i] += more.buckets_[i];
  }
}

Nanos StopTimes::Quantile(double share) const {
  const double wanted = share * static_cast<double>(count_);
  uint64_t below = 0;
  for (size_t i = 0; i < kBuckets && count_ > 0; ++i) {
    below += buckets_[i];
    if (static_cast<double>(below) >= wanted) {
      const Nanos end(static_cast<int64_t>(std::exp2(static_cast<double>(i + 1) / kStepsPerOctave)));
      return std::min(end, longest_);
    }
  }
  return longest_;
}

}  // namespace ptrace_prof
