// What a policy may judge a process by, as the launcher found it while it held the process. Pure data.
#pragma once

#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

struct TargetFacts {
  Uid owner;            // real
  std::string command;  // comm: the process may call itself what it likes
  std::string program;  // what it runs, by its path as the process sees it; empty: not known
  std::string cgroup;   // the text of /proc/<pid>/cgroup; empty: not known
};

}  // namespace ptrace_prof
