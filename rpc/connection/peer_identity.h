// Who is at the other end of a connection: as the kernel says of a local one, as its certificate and the policy say of
// one over TCP. Pure data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

struct PeerCertificate;

struct PeerIdentity {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
  Pid pid;                   // of the process that connected, for the log; 0: on another machine
  std::string command = {};  // of that process, as it called itself when it connected; empty: not known
  uint64_t number = 0;       // by which the doorkeeper knows it; 0: it does not
  std::shared_ptr<const PeerCertificate> certificate = nullptr;  // that was shown; null: who is local shows none
  std::optional<uint32_t> munge_uid = std::nullopt;              // whom munged vouched for, where that was asked

  // Root who may read every process, and to whom captures of everybody are shown: not every root of a container.
  bool is_administrator = false;
};

}  // namespace ptrace_prof
