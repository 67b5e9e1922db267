// The pids that the kernel has given out since the last look, by the last one of /proc/loadavg: one read of a file that
// stays open (2 us) tells that nobody on the machine has begun a process or a thread.
//
// Pids are of the reader's PID namespace. One owner; one thread.
#pragma once

#include <optional>

#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class ForkTrace {
 public:
  ForkTrace();

  // From `first` to `last`, both included; `first` > `last`: none.
  struct Range {
    int32_t first = 1;
    int32_t last = 0;
    bool empty() const { return first > last; }
    int64_t size() const { return int64_t{last} - first + 1; }
  };
  // Since the last call. None: not known (the first call, the numbers began anew, the kernel does not say).
  std::optional<Range> Take();

 private:
  UniqueFd file_;
  int32_t last_ = 0;  // 0: not known
};

// Are they two processes with one memory, as a child is until its exec where it was made by vfork? None: the kernel
// does not say.
std::optional<bool> HaveOneMemory(Pid one, Pid other);

}  // namespace ptrace_prof
