// Somebody who has connected, and whoever accepts connections in the listener's place. Pure data, and an interface.
#pragma once

#include <functional>
#include <optional>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"
#include "rpc/connection/peer_identity.h"

namespace ptrace_prof {

struct Arrival {
  UniqueFd connection;   // not open: no descriptor was free for it
  PeerIdentity peer;     // as far as it is known
  Result<void> verdict;  // kUnauthenticated: it cannot be said who that is
};

// Used on the listener's thread alone.
class Doorkeeper {
 public:
  virtual ~Doorkeeper() = default;
  virtual int fd() const = 0;  // readable where Take has something to say; the doorkeeper owns it
  // Nothing: nobody waits now, or has_left. Never blocks.
  virtual std::optional<Arrival> Take() = 0;
  virtual bool has_left() const = 0;  // nobody comes this way any more
  virtual void StopLettingIn() = 0;   // who is in stays; who knocks from now on waits
};

}  // namespace ptrace_prof
