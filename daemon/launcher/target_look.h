// Describes a process, so that the policy can decide who may profile it. Read from /proc by the launcher, which may
// read all of it, while a pidfd holds the process.
//
// Text from the kernel is passed on unparsed. Stateless.
#pragma once

#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

struct TargetLook {
  int refused = 0;  // an errno (ESRCH: it has ended); then the other fields say nothing
  Uid owner;        // the real user ID
  std::string command;
  std::string program;  // empty: unknown
  std::string cgroup;   // empty: unknown
};

TargetLook LookAtTarget(Pid target);

}  // namespace ptrace_prof
