// Busy stretches of time, added in any order and merged into disjoint intervals.
//
// Memory is bounded: if there are too many intervals, those closest to each other are merged, so that short gaps count
// as busy. Each interval remembers when its first and its last part were launched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

struct BusyInterval {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first_launch = 0;  // launch of its first part; 0 = not known
  int64_t last_launch = 0;
};

class BusyIntervals {
 public:
  static constexpr size_t kMost = 256 * 1024;

  void Add(const BusyInterval& interval) {
    new_.push_back(interval);
    if (new_.size() >= kMost / 4) {
      Merge();
    }
  }

  // Sorted by time and disjoint.
  const std::vector<BusyInterval>& Sorted() {
    Merge();
    return merged_;
  }

  // The busy time within [from, to).
  int64_t Within(int64_t from, int64_t to) {
    int64_t sum = 0;
    for (auto at = FirstAfter(from); at != merged_.end() && at->begin < to; ++at) {
      sum += std::max<int64_t>(std::min(at->end, to) - std::max(at->begin, from), 0);
    }
    return sum;
  }

  // The first interval that ends after `time`.
  std::vector<BusyInterval>::const_iterator FirstAfter(int64_t time) {
    Merge();
    return std::upper_bound(merged_.begin(), merged_.end(), time,
                            [](int64_t value, const BusyInterval& interval) { return value < interval.end; });
  }

 private:
  void Merge() {
    if (new_.empty()) {
      return;
    }
    merged_.insert(merged_.end(), new_.begin(), new_.end());
    new_.clear();
    std::sort(merged_.begin(), merged_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    for (Join(); merged_.size() > kMost; Join()) {
      shortest_gap_ = std::max<int64_t>(2 * shortest_gap_, 1000);
    }
  }

  void Join() {
    size_t kept = 0;
    for (size_t i = 1; i < merged_.size(); ++i) {
      BusyInterval& last = merged_[kept];
      const BusyInterval& next = merged_[i];
      if (next.begin - last.end > shortest_gap_) {
        merged_[++kept] = next;
      } else {
        last.end = std::max(last.end, next.end);
        last.last_launch = std::max(last.last_launch, next.last_launch);
      }
    }
    merged_.resize(std::min(merged_.size(), kept + 1));
  }

  std::vector<BusyInterval> merged_;
  std::vector<BusyInterval> new_;
  int64_t shortest_gap_ = 0;
};

}  // namespace ptrace_prof
