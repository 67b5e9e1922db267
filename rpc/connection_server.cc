#include "rpc/connection_server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <mutex>

#include "rpc/message_limits.h"
#include "rpc/reflection.h"

namespace ptrace_prof {
namespace {

constexpr int kMinPingIntervalMs = 10'000;  // a client's pings, more of which are taken for an attack
constexpr int kIdleMs = 300'000;            // also a client that never says anything; a good one connects again

}  // namespace

Result<std::unique_ptr<ConnectionServer>> ConnectionServer::Start(UniqueFd connection,
                                                                  std::unique_ptr<ConnectionServices> services) {
  static std::once_flag once;
  std::call_once(once, [] { grpc::EnableDefaultHealthCheckService(true); });  // of all servers made from now on
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxRequest);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
  builder.SetOption(ReflectionOption());
  for (grpc::Service* service : services->services()) {
    builder.RegisterService(service);
  }
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    return Error{Code::kInternal, "cannot start a gRPC server for a connection", "free some memory or threads"};
  }
  grpc::AddInsecureChannelFromFd(server.get(), connection.release());
  return std::unique_ptr<ConnectionServer>(new ConnectionServer(std::move(services), std::move(server)));
}

ConnectionServer::ConnectionServer(std::unique_ptr<ConnectionServices> services, std::unique_ptr<grpc::Server> server)
    : services_(std::move(services)), server_(std::move(server)) {}

ConnectionServer::~ConnectionServer() { Shutdown(Nanos()); }

void ConnectionServer::Shutdown(Nanos patience) {
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::nanoseconds(patience.value));
    server_->Wait();
    server_.reset();
  }
}

}  // namespace ptrace_prof
