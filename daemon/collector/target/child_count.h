// Counts the children that a process has or gets while it is traced: the trace of its calls leaves them out.
//
// Reads /proc now and then, so a child that is gone before the next look is not counted. A look costs an open file per
// thread of the process, so looks are limited to a thousandth of the time. Owned by the capture; one thread.
#pragma once

#include <unordered_map>

#include "attach/base/types.h"

namespace ptrace_prof {

class ChildCount {
 public:
  explicit ChildCount(Pid pid) : pid_(pid) {}

  // May be called at any rate.
  void Look(Nanos now);
  uint64_t count() const { return count_; }

 private:
  const Pid pid_;
  Nanos next_look_;
  uint64_t count_ = 0;
  std::unordered_map<Pid, Nanos> seen_;  // start time of each child, as pids are reused
};

}  // namespace ptrace_prof
