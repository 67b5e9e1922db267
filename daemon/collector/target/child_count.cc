#include "daemon/collector/target/child_count.h"

#include <algorithm>

#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kCountEvery = Nanos::FromMillis(50);
constexpr int64_t kShareOfCounts = 1000;  // at most 1/1000 of the time goes into looks
constexpr size_t kMaxSeen = 65'536;

}  // namespace

void ChildCount::Look(Nanos now) {
  if (now < next_look_) {
    return;
  }
  const auto children = ListChildren(pid_);
  if (children.has_value()) {
    for (const Pid child : children.value()) {
      const auto start = ReadStartTime(child);
      if (start.has_error() || (seen_.size() >= kMaxSeen && !seen_.contains(child))) {
        continue;
      }
      const auto [known, is_new] = seen_.try_emplace(child, start.value());
      count_ += is_new || known->second != start.value() ? 1 : 0;
      known->second = start.value();
    }
  }
  const Nanos end = MonotonicNow();
  next_look_ = end + std::max(kCountEvery, Nanos((end - now).value * kShareOfCounts));
}

}  // namespace ptrace_prof
