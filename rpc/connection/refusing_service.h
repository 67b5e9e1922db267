// A service that answers every call with the same error, for peers that may connect but not call anything.
//
// Thread-safe. Lives as long as its server.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include "attach/base/result.h"

namespace ptrace_prof {

class RefusingService : public grpc::CallbackGenericService {
 public:
  explicit RefusingService(Error error) : error_(std::move(error)) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;

 private:
  const Error error_;
};

}  // namespace ptrace_prof
