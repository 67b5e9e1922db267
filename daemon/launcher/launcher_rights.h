// The privileges that root's launcher keeps: to become another user, to end collectors, to serve root's collectors.
//
// Call once in the launcher, which has one thread. No effect for an ordinary user.
#pragma once

namespace ptrace_prof {

void KeepLaunchingRights();
// Installs a system call filter, which collectors inherit. It refuses calls that neither the launcher nor a collector
// makes. Returns false if the kernel has no seccomp, or in a sanitizer build.
bool NarrowSystemCalls();

}  // namespace ptrace_prof
