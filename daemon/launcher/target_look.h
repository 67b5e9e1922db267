// What a process is, as far as somebody may be judged by it who wants to profile it: read out of /proc by the one who
// may read all of it, while a pidfd holds the process.
//
// Kernel text, passed on as it is: nothing here judges or parses it. Stateless.
#pragma once

#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

struct TargetLook {
  int refused = 0;  // an errno: it could not be looked at (ESRCH: it has ended), and the rest says nothing
  Uid owner;        // real
  std::string command;
  std::string program;  // empty: not to be found out
  std::string cgroup;   // empty: not to be found out
};

TargetLook LookAtTarget(Pid target);

}  // namespace ptrace_prof
