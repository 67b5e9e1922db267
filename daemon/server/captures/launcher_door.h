// The daemon's end of the door: new connections, one after the other, with the launcher's verdicts.
//
// Owns its end of the door's socket. Use it from one thread. After the launcher's end nothing more arrives.
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
    Result<void> verdict;           // kUnauthenticated: the identity is unknown, or has no meaning here
  };

  int fd() const { return socket_.get(); }  // readable if a connection arrived or the door has closed
  // Nothing: no connection is waiting now, or none will come any more (see has_closed).
  std::optional<Arrival> Take();
  bool has_closed() const { return closed_; }

 private:
  const UniqueFd socket_;
  bool closed_ = false;
};

}  // namespace ptrace_prof
