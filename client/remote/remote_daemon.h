// A daemon's description of itself. Pure data; times are from its clock, since 1970.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "attach/base/types.h"
#include "client/remote/remote_capture.h"

namespace ptrace_prof {

struct RemoteDaemon {
  // Sent only to root and to the user who started the daemon.
  struct Keeping {
    std::string spool;
    uint64_t spool_free_bytes = 0;
    uint64_t users = 0;
    uint64_t brief = 0;   // dumps, listings and live views that are open
    std::string audit;    // file; empty: none
    std::string metrics;  // address; empty: none
  };

  std::string node;  // "nodes/HOST"
  std::string version;
  Pid pid;
  Nanos started;
  Nanos now;
  std::string address;
  Uid user;   // the user that it runs as
  Uid owner;  // the user who started it
  bool multi_user = false;
  std::array<uint64_t, kRemoteStates> captures{};  // by RemoteState
  uint64_t trace_bytes = 0;
  bool of_everybody = false;  // the two fields above cover all users
  uint64_t most_captures = 0;
  uint64_t most_bytes = 0;
  Nanos longest;  // 0: no limit
  std::optional<Keeping> keeping;
};

}  // namespace ptrace_prof
