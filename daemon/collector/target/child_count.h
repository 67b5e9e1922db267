// Counts the children that a process has, or gets, while it is looked at: those that a trace of its calls leaves out.
//
// By /proc, now and then: a child that is gone before the next look is not counted. Costs an open file per thread of
// the process, so looks keep to a thousandth of the time. Owned by the capture; one thread.
#pragma once

#include <unordered_map>

#include "attach/base/types.h"

namespace ptrace_prof {

class ChildCount {
 public:
  explicit ChildCount(Pid pid) : pid_(pid) {}

  // As often as you like.
  void Look(Nanos now);
  uint64_t count() const { return count_; }

 private:
  const Pid pid_;
  Nanos next_look_;
  uint64_t count_ = 0;
  std::unordered_map<Pid, Nanos> seen_;  // when it started: a pid may come again
};

}  // namespace ptrace_prof
