#include "daemon/collector/gpu/gpu_graph_captures.h"

#include <algorithm>
#include <iterator>

namespace ptrace_prof {
namespace {

constexpr size_t kMostKept = 4096;
constexpr size_t kMostLate = 65'536;

}  // namespace

void GpuGraphCaptures::Note(Nanos when, int64_t change) {
  if (events_.size() >= 2 * kMostKept) {
    DropSome();
  }
  if (!events_.empty() && when < events_.back().when) {
    Insert(when, change);
    return;
  }
  const int64_t sum = (events_.empty() ? start_ : events_.back().sum) + change;
  events_.push_back({when, change, sum});
  lowest_ = std::min(lowest_, sum);
}

// Recomputes the sums after it.
void GpuGraphCaptures::Insert(Nanos when, int64_t change) {
  if (++late_ > kMostLate) {
    return;
  }
  events_.insert(std::ranges::upper_bound(events_, when, {}, &Event::when), {when, change, 0});
  int64_t sum = start_;
  lowest_ = lowest_dropped_;
  for (Event& event : events_) {
    event.sum = sum += event.change;
    lowest_ = std::min(lowest_, sum);
  }
}

void GpuGraphCaptures::DropSome() {
  const auto end = events_.begin() + static_cast<std::ptrdiff_t>(kMostKept);
  start_ = std::prev(end)->sum;
  lowest_dropped_ = std::min(lowest_dropped_, std::ranges::min_element(events_.begin(), end, {}, &Event::sum)->sum);
  events_.erase(events_.begin(), end);
}

bool GpuGraphCaptures::Covers(Nanos when) const {
  const auto after = std::ranges::upper_bound(events_, when, {}, &Event::when);
  const int64_t sum = after == events_.begin() ? start_ : std::prev(after)->sum;
  return sum > lowest_;
}

}  // namespace ptrace_prof
