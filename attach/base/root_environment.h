// The variables of the environment by which libraries that we are linked with load or follow what somebody else names,
// forgotten where we are root: sudo -E and services keep what their caller had.
//
// Stateless. Before there are other threads, and not in a process that starts a command of the user's, whose
// environment is its own.
#pragma once

namespace ptrace_prof {

// Nothing where we are not root: then they are our user's.
void ForgetLibraryVariables();

// We are root by sudo, pkexec or doas: the environment may be another user's.
bool IsRootForAnother();

}  // namespace ptrace_prof
