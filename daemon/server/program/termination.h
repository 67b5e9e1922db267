// Waits for signals: the first SIGTERM or SIGINT asks for a clean end, the second ends the process at once. SIGHUP asks
// to reload the configuration.
//
// Create it before any thread is started: threads inherit the blocked signals. One per process.
#pragma once

#include <signal.h>

#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class Termination {
 public:
  Termination();

  // Returns the signal, or 0 if none came within `timeout`, or before `other` (-1: none) became readable.
  int Await(Nanos timeout, int other = -1);
  // From now on a signal ends the process at once.
  void LetNextOneKill();

 private:
  UniqueFd signals_;
};

}  // namespace ptrace_prof
