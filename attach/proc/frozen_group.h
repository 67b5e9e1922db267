// Whether a process is stopped because its group is frozen: by a freezer cgroup of version 1, or cgroup.freeze of
// version 2.
//
// No thread of such a process runs until the group is thawed, and with version 1 none reaches a ptrace stop. Reads
// /proc/<pid>/cgroup and the group's files at the usual mount points; if they cannot be read, the process counts as not
// frozen. Thread-safe: no state.
#pragma once

#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

// The file that says so, for messages; empty: it is not frozen.
std::string FrozenGroupOf(Pid pid);

}  // namespace ptrace_prof
