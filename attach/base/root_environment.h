// Removes environment variables that make our libraries load or use files of another user's choice, if this process is
// root: sudo -E and services keep the caller's environment.
//
// Stateless. Call it before there are other threads, and not in a process that starts a command of the user, which
// needs its own environment.
#pragma once

namespace ptrace_prof {

// Does nothing if this process is not root: the variables then belong to its own user.
void ForgetLibraryVariables();

// True if this process is root by sudo, pkexec or doas: the environment may be another user's.
bool IsRootForAnother();

}  // namespace ptrace_prof
