#include "rpc/connection/call_guard.h"

#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_interceptor.h>

#include <utility>
#include <vector>

#include "rpc/connection/message_limits.h"

namespace ptrace_prof {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;

// Lives as long as its call.
class CallGuard : public Interceptor {
 public:
  CallGuard(ServerRpcInfo* call, std::shared_ptr<KnownCalls> known) : call_(call), known_(std::move(known)) {
    ++known_->count;
  }
  ~CallGuard() override { --known_->count; }

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      size_t size = 0;
      for (const auto& [name, value] : *methods->GetRecvInitialMetadata()) {
        size += name.size() + value.size();
      }
      if (size > kMaxMetadata) {
        call_->server_context()->TryCancel();
      }
    }
    methods->Proceed();
  }

 private:
  ServerRpcInfo* const call_;
  const std::shared_ptr<KnownCalls> known_;
};

class CallGuards : public ServerInterceptorFactoryInterface {
 public:
  explicit CallGuards(std::shared_ptr<KnownCalls> known) : known_(std::move(known)) {}
  Interceptor* CreateServerInterceptor(ServerRpcInfo* call) override { return new CallGuard(call, known_); }

 private:
  const std::shared_ptr<KnownCalls> known_;
};

}  // namespace

void InstallCallGuard(grpc::ServerBuilder& builder, std::shared_ptr<KnownCalls> known) {
  std::vector<std::unique_ptr<ServerInterceptorFactoryInterface>> guards;
  guards.push_back(std::make_unique<CallGuards>(std::move(known)));
  builder.experimental().SetInterceptorCreators(std::move(guards));
}

}  // namespace ptrace_prof
