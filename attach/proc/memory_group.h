// How much more memory a process's control groups let it have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

struct GroupMemory {
  uint64_t room = 0;   // bytes until the tightest limit, with what the kernel would give back (files that are cached)
  uint64_t limit = 0;  // that limit
  std::string folder;  // of the group that has it
};

// Of the groups of that process and those above them; nullopt: none has a limit that can be read here.
std::optional<GroupMemory> GroupMemoryOf(Pid pid);
// Whether what we use counts there, too.
bool SharesMemoryGroup(Pid pid);

}  // namespace ptrace_prof
