#include "daemon/collect/gpu_graph_captures.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxEvents = 4096;

}  // namespace

void GpuGraphCaptures::Note(Nanos when, int change) {
  const auto place = std::ranges::upper_bound(events_, when, {}, &Event::when);
  events_.insert(place, {when, change, 0});
  if (events_.size() > kMaxEvents) {
    forgotten_ = events_.front().open;
    events_.erase(events_.begin());
  }
  int lowest = 0;
  int open = 0;
  for (const Event& event : events_) {
    open += event.change;
    lowest = std::min(lowest, open);
  }
  before_ = std::max(forgotten_, -lowest);
  open = before_;
  for (Event& event : events_) {
    open += event.change;
    event.open = open;
  }
}

bool GpuGraphCaptures::Covers(Nanos when) const {
  const auto after = std::ranges::upper_bound(events_, when, {}, &Event::when);
  return after == events_.begin() ? !events_.empty() && before_ > 0 : std::prev(after)->open > 0;
}

}  // namespace ptrace_prof
