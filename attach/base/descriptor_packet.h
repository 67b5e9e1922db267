// Sends one packet with file descriptors (SCM_RIGHTS) over a Unix socket. Stateless.
#pragma once

#include <cstddef>
#include <span>

namespace ptrace_prof {

inline constexpr size_t kMostDescriptors = 4;

// Returns 0, or the errno. `flags` are those of sendmsg(2), in addition to MSG_NOSIGNAL.
[[nodiscard]] int SendPacket(int socket, std::span<const std::byte> packet, std::span<const int> descriptors,
                             int flags = 0);

}  // namespace ptrace_prof
