// A new connection (Arrival), and the interface of a component that accepts connections for the listener (Doorkeeper).
#pragma once

#include <functional>
#include <optional>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"
#include "rpc/connection/peer_identity.h"

namespace ptrace_prof {

struct Arrival {
  UniqueFd connection;   // not open: no free descriptor was left for it
  PeerIdentity peer;     // as far as known
  Result<void> verdict;  // kUnauthenticated: the peer cannot be identified
};

// Used only on the listener's thread.
class Doorkeeper {
 public:
  virtual ~Doorkeeper() = default;
  virtual int fd() const = 0;  // readable when Take may return something; the doorkeeper owns it
  // Returns nothing if no connection waits now, or after has_left. Never blocks.
  virtual std::optional<Arrival> Take() = 0;
  virtual bool has_left() const = 0;  // no more connections will come from the doorkeeper
  virtual void StopLettingIn() = 0;   // connections that are in stay; new ones wait
};

}  // namespace ptrace_prof
