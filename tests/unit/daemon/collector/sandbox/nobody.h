// The user and the group "nobody" of Linux: an owner that is not the user of the tests.
#pragma once

#include <cstdint>

namespace ptrace_prof {

inline constexpr uint32_t kNobody = 65534;

}  // namespace ptrace_prof
