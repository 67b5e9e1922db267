// Divides the daemon's file descriptors, so that one user cannot use up all of them.
//
// Half of them are for connections, which take two each, and a third for captures and live views, which take six to
// eight. One user gets at most half of either. With many descriptors, lower fixed limits apply. Stateless.
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
