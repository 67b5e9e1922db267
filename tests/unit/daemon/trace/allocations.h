// How often this test program has allocated memory so far.
#pragma once

#include <cstdint>

namespace ptrace_prof {

uint64_t Allocations();

}  // namespace ptrace_prof
