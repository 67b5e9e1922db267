// The memory use of this process, as the kernel counts it. Stateless. Source: statm in proc(5).
#pragma once

#include <cstdint>

#include "attach/base/result.h"

namespace ptrace_prof {

struct OwnMemory {  // bytes; 0: /proc does not say
  uint64_t address_space = 0;
  uint64_t resident = 0;
};

OwnMemory ReadOwnMemory();

// Checks that 32 MiB of address space are left, otherwise OUT_OF_RESOURCES. Under a limit of the address space
// (RLIMIT_AS) our libraries end the process when they find no memory.
Result<void> CheckRoomForMore();

}  // namespace ptrace_prof
