// Descriptors 0, 1 and 2 of a program that may have been started without them.
//
// Where one of them is closed, the next file that is opened becomes it, and what is meant for the terminal lands in a
// trace.
#pragma once

namespace ptrace_prof {

// Call it before anything is opened. To write to a standard output that was closed is an error (EBADF) as before.
void OccupyStandardDescriptors();

}  // namespace ptrace_prof
