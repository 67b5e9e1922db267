// A gRPC server for one accepted connection, and therefore for one identity, which it cannot mistake.
//
// It has no listening port and no thread of its own. Owns the connection and the services. Shut down and destroyed from
// one thread, which is none of gRPC's.
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

// What one connection may take of what its user may.
struct ConnectionShare {
  std::shared_ptr<grpc::ResourceQuota> memory;  // with all that share it
  int calls = 128;                              // at once
};

class ConnectionServer {
 public:
  static Result<std::unique_ptr<ConnectionServer>> Start(UniqueFd connection, ConnectionShare share,
                                                         std::unique_ptr<ConnectionServices> services);
  // One that answers every call with `why`.
  static Result<std::unique_ptr<ConnectionServer>> StartRefusing(UniqueFd connection, ConnectionShare share,
                                                                 const Error& why);
  ~ConnectionServer();

  struct Calls {
    uint64_t open = 0;
    uint64_t silent = 0;  // of these, whose request has not come
    uint64_t most = 0;    // that the client was told
  };
  Calls CountCalls() const;
  uint64_t known_calls() const { return known_->count; }
  // No new calls; those that go on may until `patience` is over, then they are cancelled. Waits for all of them.
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
