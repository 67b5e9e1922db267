// A gRPC server for one accepted connection, and so for exactly one peer identity.
//
// The server has no listening port and no thread of its own. It owns the connection and the services. One thread, which
// must not be a gRPC thread, shuts it down and destroys it.
#pragma once

#include <memory>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "rpc/connection/call_guard.h"
#include "rpc/connection/connection_services.h"
#include "rpc/connection/socket_calls.h"

namespace grpc {
class ResourceQuota;
class Server;
class ServerBuilder;
}  // namespace grpc

namespace ptrace_prof {

class RefusingService;

// One connection's share of what its user may use.
struct ConnectionShare {
  std::shared_ptr<grpc::ResourceQuota> memory;  // shared with the other connections of the user
  int calls = 128;                              // at the same time
};

class ConnectionServer {
 public:
  static Result<std::unique_ptr<ConnectionServer>> Start(UniqueFd connection, ConnectionShare share,
                                                         std::unique_ptr<ConnectionServices> services);
  // A server that answers every call with `why`.
  static Result<std::unique_ptr<ConnectionServer>> StartRefusing(UniqueFd connection, ConnectionShare share,
                                                                 const Error& why);
  ~ConnectionServer();

  struct Calls {
    uint64_t open = 0;
    uint64_t silent = 0;  // open calls whose request has not arrived
    uint64_t most = 0;    // the limit that was sent to the client
  };
  Calls CountCalls() const;
  uint64_t known_calls() const { return known_->count; }
  // Accepts no new calls. Open calls may go on for `patience`, then they are cancelled. Waits until all have ended.
  void Shutdown(Nanos patience);

 private:
  explicit ConnectionServer(ConnectionShare share);
  Result<void> Serve(grpc::ServerBuilder& builder, UniqueFd connection, Nanos idle);

  const ConnectionShare share_;
  const std::shared_ptr<KnownCalls> known_ = std::make_shared<KnownCalls>();
  SocketId socket_;
  std::unique_ptr<ConnectionServices> services_;
  std::unique_ptr<RefusingService> refusal_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace ptrace_prof
