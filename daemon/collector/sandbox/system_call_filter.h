// The list of system calls that a collector may make once it reads a target: reading, waiting, writing to what is open.
// No network, no new programs or processes, no signals, no files opened for writing, no executable memory, no writing
// into the target; a collector that traces may do the last one too, and share a descriptor of its target. One that
// lists processes writes into none, and makes processes that become others, which put on the filter of kRead then.
//
// Call once, in a process with one thread and with no_new_privs set. Everything else then fails with EPERM.
#pragma once

#include "attach/base/result.h"

namespace ptrace_prof {

enum class TargetAccess { kRead, kWrite, kList };

// False where the kernel has no seccomp, or in a sanitizer build, whose runtime needs more: the collector works as well
// without this wall.
bool InstallSystemCallFilter(TargetAccess access);

// The same; an error where it failed although somebody's filter is on this process already (the launcher's, a
// container's), which proves that the kernel has such: then nothing may be read without ours.
Result<void> RequireSystemCallFilter(TargetAccess access);

}  // namespace ptrace_prof
