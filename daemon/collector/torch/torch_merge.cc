#include "daemon/collector/torch/torch_merge.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr size_t kMostQueued = 1 << 17;  // of one ring

}  // namespace

// Too many go at once: their times may be wrong.
uint64_t TorchMerge::Lane::When() const {
  return records.size() - at > kMostQueued ? 0 : std::max(last, PP_WHEN(records[at].when_tag));
}

void TorchMerge::Lane::Step() {
  last = When();
  const pp_record& head = records[at++];
  if (PP_TAG(head.when_tag) == PP_TAG_EXTENDED && PP_EXTENDED_UNITS(head.value) <= PP_MAX_UNITS) {
    at += std::min<size_t>(PP_EXTENDED_UNITS(head.value), records.size() - at);
  }
}

void TorchMerge::Add(size_t ring, Tid tid, uint64_t thread, std::span<const pp_record> records) {
  Lane& lane = lanes_[ring];
  lane.tid = tid;
  lane.thread = thread;
  lane.records.insert(lane.records.end(), records.begin(), records.end());
}

bool TorchMerge::IsEmpty(size_t ring) const {
  const auto lane = lanes_.find(ring);
  return lane == lanes_.end() || lane->second.is_empty();
}

void TorchMerge::Take(uint64_t until, const Feed& feed) {
  using Next = std::pair<uint64_t, size_t>;  // when, ring
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  for (const auto& [ring, lane] : lanes_) {
    if (!lane.is_empty()) {
      next.emplace(lane.When(), ring);
    }
  }
  while (!next.empty() && next.top().first <= until) {
    const size_t ring = next.top().second;
    next.pop();
    const uint64_t limit = next.empty() ? until : std::min(until, next.top().first);
    Lane& lane = lanes_[ring];
    const size_t from = lane.at;
    while (!lane.is_empty() && lane.When() <= limit) {
      lane.Step();
    }
    feed(ring, lane.tid, lane.thread, std::span(lane.records).subspan(from, lane.at - from));
    if (!lane.is_empty()) {
      next.emplace(lane.When(), ring);
    }
  }
  for (auto& [ring, lane] : lanes_) {
    lane.records.erase(lane.records.begin(), lane.records.begin() + static_cast<ptrdiff_t>(lane.at));
    lane.at = 0;
  }
}

}  // namespace ptrace_prof
