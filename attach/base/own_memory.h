// What the memory of this very process is, as the kernel counts it. Stateless. Source: statm in proc(5).
#pragma once

#include <cstdint>

namespace ptrace_prof {

struct OwnMemory {  // bytes; 0: /proc does not say
  uint64_t address_space = 0;
  uint64_t resident = 0;
};

OwnMemory ReadOwnMemory();

}  // namespace ptrace_prof
