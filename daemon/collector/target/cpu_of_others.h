// Whether threads of a process ran of which nobody knows: the CPU clock of the process against what the threads had
// used when each was looked at last.
//
// A look at each of a thousand threads that wait costs a hundred times what one look at the clock of all of them does.
// The kernel brings a running thread's own figure up to date at its ticks, so that a few ms are not told apart from
// nothing. One per process that is sampled; one thread.
#pragma once

#include <ctime>

#include "attach/base/types.h"

namespace ptrace_prof {

class CpuOfOthers {
 public:
  explicit CpuOfOthers(Pid pid);

  // `known`: the sum of what was seen of each. True: others ran as well since it was true last, or nobody knows.
  bool HaveRun(Nanos known);

 private:
  clockid_t clock_;
  bool is_settled_ = false;
  Nanos settled_;  // the least that was not known since it was true last
};

}  // namespace ptrace_prof
