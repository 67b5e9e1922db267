// Whom a collector shall run as, and becoming that user for good.
//
// Pure data, and one call for a freshly forked child. Nothing here decides who may be whom.
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
  uint64_t capabilities = 0;  // of root: what its collector may have of them; of anybody else: none
};

// Takes groups, group and user, and checks that all of them were taken. Does nothing where this process is that user
// already and has no right to become another: with its own groups, which it could not change anyway. 0, or the errno.
// Async-signal-safe.
[[nodiscard]] int BecomeCaller(const CallerIdentity& caller);

}  // namespace ptrace_prof
