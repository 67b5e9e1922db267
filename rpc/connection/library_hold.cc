#include "rpc/connection/library_hold.h"

#include <grpc/grpc.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <mutex>

#include "rpc/connection/refusing_service.h"

namespace ptrace_prof {

void HoldLibrary() {
  static std::once_flag once;
  std::call_once(once, [] {
    ::grpc_init();
    // Never freed: the library's threads end with its last server, also at exit.
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(new RefusingService(Error{}));
    static const grpc::Server* const held = builder.BuildAndStart().release();
    (void)held;
  });
}

}  // namespace ptrace_prof
