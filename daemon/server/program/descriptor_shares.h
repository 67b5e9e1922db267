// What one user may have of a daemon that has so many descriptors, so that others have enough.
//
// Half of them are for connections, which take two each, and a third for captures and live views, which take six to
// eight; of both one user gets half at the most. Where descriptors are many, fixed numbers are less. Stateless.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptrace_prof {

struct DescriptorShares {
  size_t connections = 0;  // of all users
  size_t connections_per_user = 0;
  size_t captures_per_user = 0;
  size_t live_per_user = 0;
};

DescriptorShares SharesOf(uint64_t descriptors);

}  // namespace ptrace_prof
