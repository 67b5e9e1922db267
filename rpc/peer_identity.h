// Who is at the other end of a connection, as the kernel says. Pure data.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

struct PeerIdentity {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
  Pid pid;              // of the process that connected; for the log
  uint64_t number = 0;  // by which the doorkeeper knows it; 0: it does not

  bool SameRights(const PeerIdentity& other) const {
    return uid == other.uid && gid == other.gid && groups == other.groups;
  }
};

}  // namespace ptrace_prof
