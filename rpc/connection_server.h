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
}

namespace ptrace_prof {

class ConnectionServer {
 public:
  static Result<std::unique_ptr<ConnectionServer>> Start(UniqueFd connection,
                                                         std::unique_ptr<ConnectionServices> services);
  ~ConnectionServer();

  // No new calls; those that go on may until `patience` is over, then they are cancelled. Waits for all of them.
  void Shutdown(Nanos patience);

 private:
  ConnectionServer(std::unique_ptr<ConnectionServices> services, std::unique_ptr<grpc::Server> server);

  std::unique_ptr<ConnectionServices> services_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace ptrace_prof
