// How long a call of the daemon may take, and how much it returns at once.
#pragma once

#include <chrono>

namespace ptrace_prof {

inline constexpr std::chrono::seconds kCallDeadline(15);
inline constexpr int kEntriesPerPage = 1000;

}  // namespace ptrace_prof
