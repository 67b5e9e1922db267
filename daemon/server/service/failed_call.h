// The reactor of a refused streaming call: ends it at once with a status.
#pragma once

#include <grpcpp/support/server_callback.h>

namespace ptrace_prof {

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
