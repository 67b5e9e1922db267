// The services that a server offers to one peer. The listener knows the identity and calls a factory for the services.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "rpc/connection/peer_identity.h"

namespace grpc {
class Service;
}

namespace ptrace_prof {

// Lives as long as the connection. Callback services only: nothing here may block a gRPC thread.
class ConnectionServices {
 public:
  virtual ~ConnectionServices() = default;
  virtual std::vector<grpc::Service*> services() = 0;
  virtual bool is_remote() const { return false; }  // the peer may be on another machine
};

// Called on the listener's thread.
using ServicesFactory = std::function<std::unique_ptr<ConnectionServices>(const PeerIdentity&)>;

}  // namespace ptrace_prof
