#include "daemon/collector/sample/child_watch.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

constexpr int64_t kMaxPids = 512;  // most new pids that are examined one by one
constexpr Nanos kLookForChildrenEvery = Nanos::FromMillis(8);
constexpr Nanos kLongestLook = Nanos::FromMillis(100);
constexpr Nanos kListEvery = Nanos::FromMillis(20);
constexpr Nanos kBackupEvery = Nanos::FromSeconds(2);    // lists although nothing seems to have been born
constexpr Nanos kRarestBackup = Nanos::FromSeconds(20);  // with very many threads, as each one is asked
constexpr int64_t kShareOfLooks = 1000;                  // at most 1/1000 of the time for each kind of look

Nanos Pause(Nanos begin, Nanos shortest, Nanos longest) {
  return std::clamp(Nanos((MonotonicNow() - begin).value * kShareOfLooks), shortest, longest);
}

// Own CPU and that of reaped children, plus the unfinished ticks of both.
Nanos MostCpu(const ProcStat& stat) { return OfTicks(stat.cpu_ticks + stat.reaped_cpu_ticks + 4); }

Nanos Since(Nanos then, Nanos now, uint32_t threads) {
  static const auto cpus = std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
  return Nanos((now - then).value * std::min<int64_t>(threads, cpus));
}

bool HasEnded(const ProcStat& stat) { return stat.state == 'Z' || stat.state == 'X'; }

}  // namespace

void ChildWatch::Begin(Pid root) {
  if (const auto stat = ReadProcStat(root); stat.has_value()) {
    known_[root] = {.start_ticks = stat.value().start_ticks};
  }
}

const std::vector<ChildWatch::Birth>& ChildWatch::Look(Nanos now) {
  births_.clear();
  if (now < next_look_) {
    return births_;
  }
  const Nanos begin = MonotonicNow();
  const auto born = forks_.Take();
  const bool many = !born.has_value() || born->size() > kMaxPids;
  must_list_ = must_list_ || many || now >= next_backup_;
  must_count_ = must_count_ || many || !born->empty();
  for (int32_t pid = many ? 1 : born->first; !many && pid <= born->last; ++pid) {
    Meet(Pid(pid), now);
  }
  if (must_list_ && now >= next_list_) {
    const Nanos before = MonotonicNow();
    ListAll(now);
    must_list_ = false;
    next_list_ = now + Pause(before, kListEvery, kBackupEvery);
    next_backup_ = now + Pause(before, kBackupEvery, kRarestBackup);
  }
  if (must_count_ && now >= next_count_) {
    const Nanos before = MonotonicNow();
    CountReaped(now);
    must_count_ = false;
    next_count_ = now + Pause(before, kLookForChildrenEvery, kBackupEvery);
  }
  next_look_ = now + Pause(begin, kLookForChildrenEvery, kLongestLook);
  return births_;
}

// A new pid belongs to a child, to a thread, or to a process or thread that is gone already.
void ChildWatch::Meet(Pid pid, Nanos now) {
  const auto stat = ReadProcStat(pid);
  gone_pids_ += stat.has_error() ? 1 : 0;
  if (stat.has_error() || !known_.contains(Pid(stat.value().ppid))) {
    return;
  }
  const auto status = ReadProcessStatus(pid);
  if (status.has_value() && status.value().tgid == pid) {
    Note(pid, Pid(stat.value().ppid), stat.value(), now);
  }
}

void ChildWatch::Note(Pid pid, Pid parent, const ProcStat& stat, Nanos now) {
  const auto found = known_.find(pid);
  if (is_full() || (found != known_.end() && found->second.start_ticks == stat.start_ticks)) {
    return;
  }
  known_[pid] = {.parent = parent, .start_ticks = stat.start_ticks, .most_cpu = MostCpu(stat), .seen = now};
  if (HasEnded(stat)) {
    ++unseen_.children;
    unseen_.cpu = unseen_.cpu + OfTicks(stat.cpu_ticks);
  } else {
    births_.push_back({pid, parent});
  }
}

void ChildWatch::ListAll(Nanos now) {
  listed_.clear();
  for (const auto& [pid, known] : known_) {
    listed_.push_back(pid);
  }
  for (size_t i = 0; i < listed_.size(); ++i) {  // listed_ grows: children of children
    const Pid parent = listed_[i];
    const auto children = ListChildren(parent);
    if (children.has_error()) {
      continue;
    }
    for (const Pid child : children.value()) {
      const size_t before = births_.size();
      if (const auto stat = ReadProcStat(child); stat.has_value()) {
        Note(child, parent, stat.value(), now);
      }
      if (births_.size() > before) {
        listed_.push_back(child);
      }
    }
  }
}

// Most CPU that known children can have used that were there in this round but are gone by now.
Nanos ChildWatch::MostOfGone(Pid parent, Nanos now) {
  Nanos most;
  for (const auto& [pid, known] : known_) {
    if (known.parent == parent) {
      const auto stat = ReadProcStat(pid);
      if (stat.has_error() || stat.value().start_ticks != known.start_ticks) {
        most = most + known.most_cpu + Since(known.seen, now, known.threads);
      }
    }
  }
  return most;
}

void ChildWatch::Forget(Nanos now) {
  for (auto& [pid, known] : known_) {
    known.of_gone[1] = std::exchange(known.of_gone[0], Nanos());
  }
  stats_.clear();
  for (auto it = known_.begin(); it != known_.end();) {
    const auto stat = ReadProcStat(it->first);
    if (stat.has_value() && stat.value().start_ticks == it->second.start_ticks) {
      stats_.emplace_back(it->first, stat.value());
      ++it;
      continue;
    }
    const Known& gone = it->second;
    if (const auto parent = known_.find(gone.parent); parent != known_.end()) {
      parent->second.of_gone[0] = parent->second.of_gone[0] + gone.most_cpu + Since(gone.seen, now, gone.threads);
    }
    it = known_.erase(it);
  }
}

void ChildWatch::CountReapedBy(Pid pid, const ProcStat& stat, Nanos now) {
  Known& known = known_[pid];
  if (known.is_counted && stat.reaped_faults > known.reaped_faults) {
    // A child found gone in the last round may have been reaped after its parent was read.
    const Nanos ours = known.of_gone[0] + known.of_gone[1] + MostOfGone(pid, now);
    const Nanos cpu = OfTicks(stat.reaped_cpu_ticks - known.reaped_cpu_ticks);
    const uint64_t sure = ours == Nanos() ? 1 : 0;
    unseen_.children += sure;
    unseen_.more += gone_pids_ - std::min(gone_pids_, sure);
    gone_pids_ = 0;
    unseen_.cpu = unseen_.cpu + std::max(Nanos(), cpu - ours);
  }
  known.reaped_faults = stat.reaped_faults;
  known.reaped_cpu_ticks = stat.reaped_cpu_ticks;
  known.most_cpu = MostCpu(stat);
  known.threads = stat.threads;
  known.seen = now;
  known.is_counted = true;
}

void ChildWatch::CountReaped(Nanos now) {
  Forget(now);
  for (const auto& [pid, stat] : stats_) {
    CountReapedBy(pid, stat, now);
  }
  gone_pids_ = 0;
}

}  // namespace ptrace_prof
