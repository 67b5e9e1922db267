#include "daemon/trace/write/nesting_lanes.h"

#include <algorithm>

namespace ptrace_prof {

// `must`: there is no other lane, so the range is accepted in any case.
bool NestingLanes::Take(Lane& lane, Outermost range, bool must) {
  const auto is_held = [&](const Outermost& one) { return one.begin >= range.begin && one.end <= range.end; };
  auto first = lane.end();
  while (first != lane.begin() && is_held(*(first - 1))) {
    --first;
  }
  const bool fits = first == lane.begin() || (first - 1)->end <= range.begin;
  if (!fits && !must) {
    return false;
  }
  lane.erase(first, lane.end());
  if (!fits) {
    range.begin = std::min(range.begin, lane.back().begin);
    range.end = std::max(range.end, lane.back().end);
    lane.pop_back();
  }
  lane.push_back(range);
  if (lane.size() > kMostRemembered) {
    lane[kMostRemembered / 2].begin = lane.front().begin;
    lane.erase(lane.begin(), lane.begin() + static_cast<std::ptrdiff_t>(kMostRemembered / 2));
  }
  return true;
}

size_t NestingLanes::Add(Nanos begin, Nanos end) {
  for (size_t lane = 0; lane + 1 < lanes_.size(); ++lane) {
    if (Take(lanes_[lane], {begin, end}, false)) {
      return lane;
    }
  }
  Take(lanes_.back(), {begin, end}, true);
  return lanes_.size() - 1;
}

}  // namespace ptrace_prof
