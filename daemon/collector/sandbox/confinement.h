// The walls around a collector whose rights are surrendered: resource limits, no descriptors but its own, a session
// of its own (a terminal's Ctrl-C and Ctrl-Z are not for it: stopped, it could leave a thread of the target stopped).
//
// Call once, after the command was launched: nothing of this is for the command. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/result.h"

namespace ptrace_prof {

// Leaves the terminal and closes every descriptor but these and stderr.
void LeaveTerminal(std::vector<int> kept);
// No core dumps (they would hold the target's data), no files written but for memory files of that many bytes.
void LimitResources(uint64_t file_bytes);
// Of a tracer that is brought into a target.
inline constexpr uint64_t kMostTracerBytes = 1 << 20;

}  // namespace ptrace_prof
