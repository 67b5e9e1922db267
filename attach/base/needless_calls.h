// The system calls that no process of ours makes, nor has any use for: the parts of the kernel's interface that change
// the machine, or have had most of its holes. Those that this architecture lacks are not in it. Constant.
#pragma once

#include <cstdint>
#include <span>

namespace ptrace_prof {

std::span<const uint32_t> NeedlessCalls();

}  // namespace ptrace_prof
