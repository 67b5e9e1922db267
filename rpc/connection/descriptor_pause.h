// What a server does while it has no descriptor left for a connection.
#pragma once

namespace ptrace_prof {

inline constexpr int kNoDescriptorPauseMs = 20;  // connections stay in the kernel's queue meanwhile

}  // namespace ptrace_prof
