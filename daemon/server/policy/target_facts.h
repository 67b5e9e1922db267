// The facts by which a policy judges a process, as the launcher found them while it held the process. Plain data.
#pragma once

#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

struct TargetFacts {
  Uid owner;            // the real user ID
  std::string command;  // comm, which the process can change
  std::string program;  // path of its program, as the process sees it; empty: not known
  std::string cgroup;   // the text of /proc/<pid>/cgroup; empty: not known
};

}  // namespace ptrace_prof
