// How much more memory a process's control groups allow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

struct GroupMemory {
  uint64_t room = 0;   // bytes until the tightest limit, including what the kernel would reclaim (cached files)
  uint64_t limit = 0;  // that limit
  std::string folder;  // of the group with that limit
};

// Checks the groups of the process and those above them; nullopt: none has a limit that we can read.
std::optional<GroupMemory> GroupMemoryOf(Pid pid);
// Whether the memory that we use is charged to that group too.
bool SharesMemoryGroup(Pid pid);

}  // namespace ptrace_prof
