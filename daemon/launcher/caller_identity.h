// The user that a collector runs as, and the call that becomes that user for good.
//
// Plain data, and one call for a freshly forked child. This file does not decide who may run as whom.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct CallerIdentity {
  Uid uid;
  Gid gid;
  std::vector<Gid> groups;
  uint64_t capabilities = 0;  // the most that root's collector may have; 0 for any other user
};

// Sets groups, group and user, and checks that all were set. Returns 0 or the errno. Async-signal-safe.
// Does nothing if this process already is that user and may not change users: then its groups cannot be changed.
[[nodiscard]] int BecomeCaller(const CallerIdentity& caller);

}  // namespace ptrace_prof
