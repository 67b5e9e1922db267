// Occupies descriptors 0, 1 and 2 in a program that may have been started without them.
//
// If one of them is closed, the next file that is opened gets its number, and output for the terminal lands in a trace.
#pragma once

namespace ptrace_prof {

// Call it before anything is opened. Writing to a standard output that was closed still fails (EBADF).
void OccupyStandardDescriptors();

}  // namespace ptrace_prof
