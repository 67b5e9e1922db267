// Watches the descendants of a process: finds new children, and counts those that came and went unseen. The kernel's
// last pid says whether anything was born (fork_trace.h). Each new pid is then asked for its parent, so a look costs as
// much as the number of births. If there were too many births, or the kernel does not report them, all children of all
// known processes are listed, in a small share of the time.
//
// The kernel charges a parent with what each child that it waited for has used. If that grows although no known child
// is gone, there was an unseen child. The number of unseen children is therefore a lower bound. Owned by ProcessTree;
// one thread.
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
  static constexpr size_t kMaxKnown = 65536;  // at once; bounds our memory against a fork bomb

  struct Birth {
    Pid pid;
    Pid parent;
  };

  // Watches the descendants of `root`.
  void Begin(Pid root);
  // Returns the new descendants. Cheap if nothing was born: call it as often as children should be noticed.
  const std::vector<Birth>& Look(Nanos now);

  struct Unseen {
    uint64_t children = 0;  // lower bound
    // Upper bound for further ones: pids given to any process or thread of the machine and gone when we looked.
    uint64_t more = 0;
    Nanos cpu;  // CPU that they used, lower bound
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
    Nanos most_cpu;  // most CPU that it can have used when it was last seen
    uint32_t threads = 1;
    Nanos seen;
    // Most CPU that known children which are gone can have used: those found gone in this round, and in the last one.
    Nanos of_gone[2];
    bool is_counted = false;  // the reaped_… fields are set
  };

  void Meet(Pid pid, Nanos now);
  void Note(Pid pid, Pid parent, const ProcStat& stat, Nanos now);
  void ListAll(Nanos now);
  void CountReaped(Nanos now);
  void Forget(Nanos now);
  Nanos MostOfGone(Pid parent, Nanos now);
  void CountReapedBy(Pid pid, const ProcStat& stat, Nanos now);

  ForkTrace forks_;
  std::unordered_map<Pid, Known> known_;  // alive, or zombies
  std::vector<Birth> births_;
  std::vector<Pid> listed_;
  std::vector<std::pair<Pid, ProcStat>> stats_;
  Unseen unseen_;
  bool must_list_ = true;
  bool must_count_ = true;
  uint64_t gone_pids_ = 0;  // pids that were given out since the last count and are gone
  Nanos next_list_;
  Nanos next_backup_;
  Nanos next_count_;
  Nanos next_look_;
};

}  // namespace ptrace_prof
