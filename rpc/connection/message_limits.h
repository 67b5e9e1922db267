// The largest messages. Our requests are tiny; a response may hold one large packet, or a dump of many threads. Clients
// accept more than our servers send, as servers of other versions may send more.
#pragma once

#include <cstddef>

namespace ptrace_prof {

inline constexpr int kMaxRequest = 4 << 20;
inline constexpr int kMaxResponse = 64 << 20;
inline constexpr size_t kMaxAnswer = size_t{16} << 20;
inline constexpr size_t kMaxMetadata = 8 << 10;

}  // namespace ptrace_prof
