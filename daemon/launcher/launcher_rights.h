// What the launcher keeps of root: becoming somebody else, ending what it started, and what a collector of root's
// needs.
//
// Call once in the launcher, which has one thread. Without effect for an ordinary user, who has nothing to keep.
#pragma once

namespace ptrace_prof {

void KeepLaunchingRights();
// A system call filter, which collectors inherit: without what neither the launcher nor they ever do. False where the
// kernel has no seccomp, or in a sanitizer build.
bool NarrowSystemCalls();

}  // namespace ptrace_prof
