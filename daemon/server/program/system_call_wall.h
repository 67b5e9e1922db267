// A system call filter for the main process once its privileges are dropped: no other programs, no memory of other
// processes, no other users, and nothing else that our processes never need. It refuses listed calls with EPERM, and
// permits all others, because the calls of threads and of a network library differ between versions.
//
// Call once, with one thread and no_new_privs set: threads that start later inherit the filter.
#pragma once

namespace ptrace_prof {

// Returns false if the kernel has no seccomp, or in a sanitizer build: the daemon works without this filter, too.
bool RaiseSystemCallWall();

}  // namespace ptrace_prof
