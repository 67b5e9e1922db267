#include "daemon/export/operator_links.h"

#include <algorithm>

namespace ptrace_prof {

void OperatorLinks::Add(OperatorThread thread, Nanos begin, Nanos end, uint64_t id) {
  Thread& its = threads_[thread];
  its.entries.push_back({begin, end, id});
  its.is_sorted = false;
}

void OperatorLinks::Sort(Thread& thread) {
  std::vector<Entry>& entries = thread.entries;
  std::ranges::stable_sort(
      entries, [](const Entry& a, const Entry& b) { return a.begin != b.begin ? a.begin < b.begin : b.end < a.end; });
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    while (!open.empty() && entries[open.back()].end < entries[i].end) {
      open.pop_back();
    }
    entries[i].around = open.empty() ? kNone : open.back();
    open.push_back(i);
  }
  thread.is_sorted = true;
}

std::optional<uint64_t> OperatorLinks::At(OperatorThread thread, Nanos when) {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) {
    return std::nullopt;
  }
  if (!found->second.is_sorted) {
    Sort(found->second);
  }
  const std::vector<Entry>& entries = found->second.entries;
  const auto after = std::ranges::upper_bound(entries, when, {}, &Entry::begin);
  if (after == entries.begin()) {
    return std::nullopt;
  }
  auto at = static_cast<uint32_t>(after - entries.begin() - 1);
  while (at != kNone && entries[at].end <= when) {
    at = entries[at].around;
  }
  return at == kNone ? std::nullopt : std::optional(entries[at].id);
}

}  // namespace ptrace_prof
