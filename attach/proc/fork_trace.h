// The pids that the kernel has assigned since the last call, from the last pid in /proc/loadavg. One read of a file
// that stays open (2 us) shows that no process or thread was started on the machine.
//
// Pids are in the reader's PID namespace. One owner; one thread.
#pragma once

#include <optional>

#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class ForkTrace {
 public:
  ForkTrace();

  // From `first` to `last`, both included; empty if `first` > `last`.
  struct Range {
    int32_t first = 1;
    int32_t last = 0;
    bool empty() const { return first > last; }
    int64_t size() const { return int64_t{last} - first + 1; }
  };
  // Since the last call. nullopt: unknown (the first call, the numbers wrapped around, the kernel does not say).
  std::optional<Range> Take();

 private:
  UniqueFd file_;
  int32_t last_ = 0;  // 0: not known
};

// Whether two processes share one memory, as a child made by vfork does until its exec. nullopt: the kernel does not
// say.
std::optional<bool> HaveOneMemory(Pid one, Pid other);

}  // namespace ptrace_prof
