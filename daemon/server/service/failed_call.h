// The reactor of a refused call: ends it at once with a status.
#pragma once

#include <grpcpp/support/server_callback.h>

namespace ptrace_prof {

inline grpc::ServerUnaryReactor* FailedUnary(grpc::CallbackServerContext* context, const grpc::Status& status) {
  auto* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

template <typename Message>
grpc::ServerWriteReactor<Message>* FailedCall(const grpc::Status& status) {
  class Refusal : public grpc::ServerWriteReactor<Message> {
   public:
    explicit Refusal(const grpc::Status& status) { this->Finish(status); }
    void OnDone() override { delete this; }
  };
  return new Refusal(status);
}

}  // namespace ptrace_prof
