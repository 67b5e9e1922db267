// What the memory of this very process is, as the kernel counts it. Stateless. Source: statm in proc(5).
#pragma once

#include <cstdint>

#include "attach/base/result.h"

namespace ptrace_prof {

struct OwnMemory {  // bytes; 0: /proc does not say
  uint64_t address_space = 0;
  uint64_t resident = 0;
};

OwnMemory ReadOwnMemory();

// Whether there is room for something more: below a limit of the address space (RLIMIT_AS) the libraries that we use
// end the process where they find no memory. OUT_OF_RESOURCES: less than 32 MiB are left.
Result<void> CheckRoomForMore();

}  // namespace ptrace_prof
