// How long a process stood still although it would run: stopped by a signal (SIGSTOP) or a debugger, or in a frozen
// cgroup. Whoever reads the recording is told, as nothing that it could do is in those stretches.
//
// A process stands where one of its threads does and none runs. Value; one per process that is sampled.
#pragma once

#include <string_view>

#include "attach/base/types.h"

namespace ptrace_prof {

class Standstill {
 public:
  // What each thread was said to do in this round, then the end of it. How long it has stood since the last round.
  void Saw(bool runs, std::string_view stopped_by);
  Nanos EndRound(Nanos now);

  Nanos total() const { return total_; }
  std::string_view by() const { return by_; }  // what stopped it last

 private:
  bool runs_ = false;
  bool stands_ = false;
  Nanos last_round_;
  Nanos total_;
  std::string_view by_;
};

}  // namespace ptrace_prof
