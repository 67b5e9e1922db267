// Samples and time per thread and stack, for formats without an order of time.
//
// Memory grows with the number of distinct (thread, stack) pairs, not with the length of the recording.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "daemon/export/span.h"

namespace ptrace_prof {

struct StackTotal {
  TrackId track;
  StackId stack;
  uint64_t samples = 0;
  uint64_t calls = 0;  // exact calls begun within the recording; `samples` counts every stretch
  Nanos time;

  // Its weight: nanoseconds for exact calls, else samples.
  uint64_t weight(bool exact) const {
    return exact ? static_cast<uint64_t>(std::max<int64_t>(time.value, 0)) : samples;
  }
};

class StackTotals {
 public:
  void Add(const Span& span) {
    Sum& sum = sums_[static_cast<uint64_t>(span.track.value) << 32 | span.stack.value];
    sum.samples += span.samples;
    sum.calls += span.samples > 0 && IsNewCall(span.entry) ? 1 : 0;
    sum.time = sum.time + (span.end - span.start);
  }

  // By thread, then by stack: parents come before children.
  std::vector<StackTotal> Sorted() const {
    std::vector<StackTotal> totals;
    totals.reserve(sums_.size());
    for (const auto& [key, sum] : sums_) {
      totals.push_back({TrackId(static_cast<uint32_t>(key >> 32)), StackId(static_cast<uint32_t>(key)), sum.samples,
                        sum.calls, sum.time});
    }
    std::sort(totals.begin(), totals.end(), [](const StackTotal& a, const StackTotal& b) {
      return a.track != b.track ? a.track < b.track : a.stack < b.stack;
    });
    return totals;
  }

 private:
  struct Sum {
    uint64_t samples = 0;
    uint64_t calls = 0;
    Nanos time;
  };
  std::unordered_map<uint64_t, Sum> sums_;
};

}  // namespace ptrace_prof
