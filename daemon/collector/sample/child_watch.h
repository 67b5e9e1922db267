// The descendants of a process: who was born since the last look, and how many came and went without being seen.
//
// The kernel's last pid tells whether there is anything to look for (fork_trace.h); then each new pid is asked for its
// parent, so that a look costs what was born, not what there is. Where too many were, or the kernel does not tell, all
// children of all known processes are listed, in a small share of the time. A process that waits for a child is
// charged with what that child used: where this grows although no child that we knew has gone, there was one that
// nobody saw; how many were seen by nobody can be told as "at least" only. Owned by ProcessTree; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/fork_trace.h"
#include "attach/proc/proc_stat.h"

namespace ptrace_prof {

class ChildWatch {
 public:
  static constexpr size_t kMaxKnown = 65536;  // at once; a fork bomb must not grow us

  struct Birth {
    Pid pid;
    Pid parent;
  };

  // The descendants of this one.
  void Begin(Pid root);
  // Cheap where nothing was born: as often as children shall be noticed.
  const std::vector<Birth>& Look(Nanos now);

  struct Unseen {
    uint64_t children = 0;  // at least
    uint64_t more = 0;      // that many more, at most: pids that were given out, to whomever, and gone when we looked
    Nanos cpu;              // what they used, at least
  };
  const Unseen& unseen() const { return unseen_; }
  bool is_full() const { return known_.size() >= kMaxKnown; }
  bool has_begun() const { return !known_.empty(); }

 private:
  struct Known {
    Pid parent;
    uint64_t start_ticks = 0;
    uint64_t reaped_faults = 0;
    uint64_t reaped_cpu_ticks = 0;
    Nanos most_cpu;  // that it can have used when it was last seen
    uint32_t threads = 1;
    Nanos seen;
    Nanos of_gone[2];  // that children that we knew and that are gone can have used: found in this round, in the last
    bool is_counted = false;  // reaped_… hold something
  };

  void Meet(Pid pid, Nanos now);
  void Note(Pid pid, Pid parent, const ProcStat& stat, Nanos now);
  void ListAll(Nanos now);
  void CountReaped(Nanos now);
  void Forget(Nanos now);
  Nanos MostOfGone(Pid parent, Nanos now);
  void CountReapedBy(Pid pid, const ProcStat& stat, Nanos now);

  ForkTrace forks_;
  std::unordered_map<Pid, Known> known_;  // alive, or waited for by nobody yet
  std::vector<Birth> births_;
  std::vector<Pid> listed_;
  std::vector<std::pair<Pid, ProcStat>> stats_;
  Unseen unseen_;
  bool must_list_ = true;
  bool must_count_ = true;
  uint64_t gone_pids_ = 0;  // of those that were given out since the last count
  Nanos next_list_;
  Nanos next_backup_;
  Nanos next_count_;
  Nanos next_look_;
};

}  // namespace ptrace_prof
