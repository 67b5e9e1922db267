// One packet over a Unix socket, with descriptors beside its bytes (SCM_RIGHTS). Stateless.
#pragma once

#include <cstddef>
#include <span>

namespace ptrace_prof {

inline constexpr size_t kMostDescriptors = 4;

// 0, or the errno. `flags`: of sendmsg(2), besides MSG_NOSIGNAL.
[[nodiscard]] int SendPacket(int socket, std::span<const std::byte> packet, std::span<const int> descriptors,
                             int flags = 0);

}  // namespace ptrace_prof
