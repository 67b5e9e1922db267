// The walls around a collector whose rights are surrendered: resource limits, no descriptors but its own, a session
// of its own (a terminal's Ctrl-C and Ctrl-Z are not for it: stopped, it could leave a thread of the target stopped).
//
// Call once, after the command was launched: nothing of this is for the command. One thread.
#pragma once

#include <vector>

#include "attach/base/result.h"

namespace ptrace_prof {

// Leaves the terminal and closes every descriptor but these and stderr.
void LeaveTerminal(std::vector<int> kept);
// No core dumps (they would hold the target's data), no files written, no programs started.
void LimitResources();

}  // namespace ptrace_prof
