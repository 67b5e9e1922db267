// How long a process could not run: stopped by a signal (SIGSTOP) or a debugger, or in a frozen cgroup. The recording
// reports it, as the process could do nothing in those stretches.
//
// A process stands still if one of its threads does and none runs. Value; one per sampled process.
#pragma once

#include <string_view>

#include "attach/base/types.h"

namespace ptrace_prof {

class Standstill {
 public:
  // Saw: one thread's state in this round. EndRound: ends the round, returns the time stood still since the last one.
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
