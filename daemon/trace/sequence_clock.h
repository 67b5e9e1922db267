// The clock that each packet sequence of ours defines for its timestamps: incremental, with a base of its own. Perfetto
// reserves the numbers 64 to 127 for clocks of one sequence (protos/perfetto/trace/clock_snapshot.proto).
#pragma once

#include <cstdint>

namespace ptrace_prof {

inline constexpr uint32_t kSequenceClock = 64;

}  // namespace ptrace_prof
