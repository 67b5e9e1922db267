// What the main process can no longer ask of the kernel, once its rights are given up: other programs, other processes'
// memory, other users, and everything that no process of ours has a use for. It has threads and a network library,
// whose calls differ from version to version: so this is a list of what is refused, with EPERM, and not one of what is
// allowed.
//
// Call once, with one thread and no_new_privs set: threads that are started later are behind it too.
#pragma once

namespace ptrace_prof {

// False where the kernel has no seccomp, or in a sanitizer build: the daemon works as well without this wall.
bool RaiseSystemCallWall();

}  // namespace ptrace_prof
