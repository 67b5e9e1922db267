#include "daemon/export/range_edges.h"

#include <algorithm>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr size_t kMostEdges = 1 << 20;   // of a thread
constexpr std::ptrdiff_t kDeepest = 64;  // calls that contain a moment are looked for among so many before it

}  // namespace

bool RangeEdges::Matters(std::string_view function) {
  return function.ends_with("__enter__") || function.ends_with("__exit__");
}

void RangeEdges::AddCall(OperatorThread thread, Nanos begin, Nanos end) {
  Thread& its = threads_[thread];
  if (its.calls.size() < kMostEdges) {
    its.calls.push_back({begin, end});
    its.is_sorted = false;
  }
}

std::pair<Nanos, Nanos> RangeEdges::Fit(OperatorThread thread, Nanos begin, Nanos end) {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) {
    return {begin, end};
  }
  std::vector<Call>& calls = found->second.calls;
  if (!std::exchange(found->second.is_sorted, true)) {
    std::ranges::stable_sort(calls, {}, &Call::begin);
  }
  // Calls that contain `when`, and not the whole range.
  const auto visit = [&](Nanos when, const auto& take) {
    const auto after = std::ranges::upper_bound(calls, when, {}, &Call::begin);
    for (auto at = after - std::min(kDeepest, after - calls.begin()); at != after; ++at) {
      if (at->end >= when && (at->begin > begin || at->end < end)) {
        take(*at);
      }
    }
  };
  Nanos first = begin;
  Nanos last = end;
  visit(begin, [&](const Call& call) { first = std::max(first, call.end); });
  visit(end, [&](const Call& call) { last = std::min(last, call.begin); });
  return first <= last ? std::pair(first, last) : std::pair(begin, end);
}

}  // namespace ptrace_prof
