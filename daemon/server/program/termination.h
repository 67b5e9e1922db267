// SIGTERM and SIGINT as something to wait for: the first asks to end well, a second one ends the process at once. And
// SIGHUP, which asks for what was configured to be read again.
//
// Make it before any thread is started: threads inherit what it blocks. One per process.
#pragma once

#include <signal.h>

#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class Termination {
 public:
  Termination();

  // The signal, or 0 when there was none within `timeout`, or before `other` (-1: none) could be read.
  int Await(Nanos timeout, int other = -1);
  // From now on a signal ends us where we are.
  void LetNextOneKill();

 private:
  UniqueFd signals_;
};

}  // namespace ptrace_prof
