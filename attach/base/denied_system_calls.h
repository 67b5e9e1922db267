// The system calls that all our processes deny themselves: they change the machine, or most of the kernel's security
// holes were in them, and we need none of them. Calls that this architecture lacks are not in the list. Constant.
#pragma once

#include <cstdint>
#include <span>

namespace ptrace_prof {

std::span<const uint32_t> DeniedSystemCalls();

}  // namespace ptrace_prof
