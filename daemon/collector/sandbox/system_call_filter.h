// The system calls that a collector may make once it reads a target: reading, waiting, and writing to open descriptors.
// It may not use the network, start programs or processes, send signals, open files for writing, map executable memory
// or write into the target. A collector that traces may also write into the target and share a descriptor with it. One
// that lists processes writes into none, and forks children that become other users and then install the filter of
// kRead.
//
// Call once, in a process with one thread and with no_new_privs set. Everything else then fails with EPERM.
#pragma once

#include "attach/base/result.h"

namespace ptrace_prof {

enum class TargetAccess { kRead, kWrite, kList };

// False if the kernel has no seccomp, or in a sanitizer build, whose runtime needs more. The collector works without
// the filter too.
bool InstallSystemCallFilter(TargetAccess access);

// The same, but an error if it failed although the process already has a filter (the launcher's, a container's). That
// proves that the kernel supports filters; then nothing may be read without ours.
Result<void> RequireSystemCallFilter(TargetAccess access);

}  // namespace ptrace_prof
