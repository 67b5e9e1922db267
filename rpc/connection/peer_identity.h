// The identity of a connection's peer: for a local peer from the kernel, for one over TCP from its certificate and the
// policy. Pure data.
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
  Pid pid;                   // of the process that connected, for the log; 0: it is on another machine
  std::string command = {};  // the name of that process (comm) when it connected; empty: not known
  uint64_t number = 0;       // the doorkeeper's number for it; 0: none
  std::shared_ptr<const PeerCertificate> certificate = nullptr;  // the peer's certificate; null: a local peer has none
  std::optional<uint32_t> munge_uid = std::nullopt;              // the user that munged named, if it was asked

  // Root that may read every process and sees the captures of all users. Root inside a container may not be this.
  bool is_administrator = false;
};

}  // namespace ptrace_prof
