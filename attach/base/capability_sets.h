// The capabilities of this process, as bit sets. Stateless; async-signal-safe.
#pragma once

#include <linux/capability.h>

#include <cstdint>

namespace ptrace_prof {

inline constexpr uint64_t kSysPtrace = uint64_t{1} << CAP_SYS_PTRACE;
inline constexpr int kLastCapability = 63;

struct CapabilitySets {
  uint64_t permitted = 0;
  uint64_t effective = 0;
  uint64_t inheritable = 0;
};

uint64_t PermittedCapabilities();
// Returns 0, or the errno.
[[nodiscard]] int SetCapabilities(const CapabilitySets& sets);
// Drops all but `kept` from the bounding set. Fails for a user's launcher, which has nothing to drop.
void DropBounds(uint64_t kept);

}  // namespace ptrace_prof
