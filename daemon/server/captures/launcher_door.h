// The daemon's side of the door: who connected, one after the other, as the launcher found them.
//
// Owns its end of the door's socket. One thread. Nothing comes any more when the launcher has ended.
#pragma once

#include <optional>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"
#include "daemon/launcher/launch_message.h"
#include "daemon/server/captures/launcher_connection.h"

namespace ptrace_prof {

class LauncherDoor {
 public:
  explicit LauncherDoor(UniqueFd socket) : socket_(std::move(socket)) {}

  struct Arrival {
    UniqueFd connection;  // not open: no descriptor was free for it
    PeerNumber number;
    CallerIdentity who;
    Pid pid;
    bool is_administrator = false;  // see ExaminedPeer
    Result<void> verdict;           // kUnauthenticated: who that is cannot be said, or means nothing here
  };

  int fd() const { return socket_.get(); }  // readable where somebody arrived, or nobody will
  // Nothing: nobody waits now, or nobody comes any more (see has_closed).
  std::optional<Arrival> Take();
  bool has_closed() const { return closed_; }

 private:
  const UniqueFd socket_;
  bool closed_ = false;
};

}  // namespace ptrace_prof
