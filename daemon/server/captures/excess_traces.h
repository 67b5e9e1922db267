// Which traces of ended captures go where there are more than are kept.
//
// Of a user who has too many of them the oldest; then, while all together are too large, the oldest of the user who
// stores most, so that nobody's traces go because another user has many. Pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ptrace_prof {

struct KeptTrace {
  uint32_t owner_uid = 0;
  uint64_t bytes = 0;
};

struct ExcessTrace {
  size_t index = 0;      // into what was given
  std::string_view why;  // "count" or "bytes"
};

// `most_bytes` 0: no limit.
std::vector<ExcessTrace> FindExcessTraces(std::span<const KeptTrace> oldest_first, size_t most_of_a_user,
                                          uint64_t most_bytes);

}  // namespace ptrace_prof
