// Chooses which traces of ended captures are deleted when there are too many.
//
// First the oldest traces of each user who has too many. Then, while all traces together are too large, the oldest of
// the user who stores most, so that no user loses traces because another one has many. Pure function.
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
  size_t index = 0;      // into the input
  std::string_view why;  // "count" or "bytes"
};

// `most_bytes` 0: no limit.
std::vector<ExcessTrace> FindExcessTraces(std::span<const KeptTrace> oldest_first, size_t most_of_a_user,
                                          uint64_t most_bytes);

}  // namespace ptrace_prof
