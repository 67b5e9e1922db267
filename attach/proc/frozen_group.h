// Whether a process stands because its group is frozen: a freezer cgroup of version 1, or cgroup.freeze of version 2.
//
// No thread of such a process runs until somebody thaws the group, and none of version 1 comes to a stop. From
// /proc/<pid>/cgroup and the group's own files where cgroups are usually mounted; what cannot be read says that it is
// not frozen. Thread-safe: no state.
#pragma once

#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

// The file that says so, for people; empty: it is not frozen.
std::string FrozenGroupOf(Pid pid);

}  // namespace ptrace_prof
