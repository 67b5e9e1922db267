// Finds out whether unwatched threads of a process ran: compares the CPU clock of the process with the sum of what its
// threads had used at their last looks.
//
// A look at each of a thousand waiting threads costs a hundred times as much as one look at the clock of the process.
// The kernel updates a running thread's own figure at its ticks, so a few ms cannot be distinguished from nothing. One
// per sampled process; one thread.
#pragma once

#include <ctime>

#include "attach/base/types.h"

namespace ptrace_prof {

class CpuOfOthers {
 public:
  explicit CpuOfOthers(Pid pid);

  // `known`: the sum of what was seen of each thread. True: other threads have run since the last true, or it is not
  // known.
  bool HaveRun(Nanos known);

 private:
  clockid_t clock_;
  bool is_settled_ = false;
  Nanos settled_;  // the least unaccounted time since the last true
};

}  // namespace ptrace_prof
