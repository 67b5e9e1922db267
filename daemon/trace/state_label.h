// The label of a thread's state on its state track: "running", "idle: epoll_wait".
#pragma once

#include <string>

#include "daemon/trace/model.h"

namespace ptrace_prof {

inline constexpr size_t kThreadStateCount = static_cast<size_t>(ThreadState::kJobStopped) + 1;

std::string StateLabel(const StateInfo& info);

}  // namespace ptrace_prof
