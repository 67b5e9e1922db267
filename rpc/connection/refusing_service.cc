#include "rpc/connection/refusing_service.h"

#include <grpcpp/impl/codegen/server_callback.h>

#include "rpc/connection/status.h"

namespace ptrace_prof {
namespace {

class RefusedCall : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(const Error& error) { Finish(ToStatus(error)); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerGenericBidiReactor* RefusingService::CreateReactor(grpc::GenericCallbackServerContext*) {
  return new RefusedCall(error_);
}

}  // namespace ptrace_prof
