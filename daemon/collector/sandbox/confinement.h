// Confines a collector that has given up its rights: resource limits, no foreign descriptors, and a session of its own.
// The session keeps the terminal's Ctrl-C and Ctrl-Z away: a stopped collector could leave a thread of the target
// stopped.
//
// Call once, after the command was launched, as the command must not be confined. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/result.h"

namespace ptrace_prof {

// Leaves the terminal and closes every descriptor except `kept` and stderr.
void LeaveTerminal(std::vector<int> kept);
// No core dumps (they would hold the target's data), and no file writes except to memory files up to `file_bytes`.
void LimitResources(uint64_t file_bytes);
// Size of a tracer that is loaded into a target.
inline constexpr uint64_t kMostTracerBytes = 1 << 20;

}  // namespace ptrace_prof
