// The system calls that every process of ours refuses itself: they change the machine, or have had most of the
// kernel's security holes, and we need none of them. A call that this architecture lacks is not in the list. Constant.
#pragma once

#include <cstdint>
#include <span>

namespace ptrace_prof {

std::span<const uint32_t> DeniedSystemCalls();

}  // namespace ptrace_prof
