// A gRPC server for one accepted connection, and therefore for one identity, which it cannot mistake.
//
// It has no listening port and no thread of its own. Owns the connection and the services. Shut down and destroyed from
// one thread, which is none of gRPC's.
#pragma once

#include <memory>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "rpc/connection_services.h"

namespace grpc {
class Server;
class ServerBuilder;
}  // namespace grpc

namespace ptrace_prof {

class RefusingService;

class ConnectionServer {
 public:
  static Result<std::unique_ptr<ConnectionServer>> Start(UniqueFd connection,
                                                         std::unique_ptr<ConnectionServices> services);
  // One that answers every call with `why`.
  static Result<std::unique_ptr<ConnectionServer>> StartRefusing(UniqueFd connection, const Error& why);
  ~ConnectionServer();

  // No new calls; those that go on may until `patience` is over, then they are cancelled. Waits for all of them.
  void Shutdown(Nanos patience);

 private:
  ConnectionServer() = default;
  Result<void> Serve(grpc::ServerBuilder& builder, UniqueFd connection, Nanos idle);

  std::unique_ptr<ConnectionServices> services_;
  std::unique_ptr<RefusingService> refusal_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace ptrace_prof
