#include "rpc/connection/connection_server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "rpc/connection/message_limits.h"
#include "rpc/connection/reflection.h"
#include "rpc/connection/refusing_service.h"

namespace ptrace_prof {
namespace {

constexpr int kMinPingIntervalMs = 10'000;  // for a client's pings; more frequent ones count as an attack
constexpr int kRemoteKeepaliveMs = 60'000;  // a peer that neither reads nor answers counts as gone
constexpr int kRemoteKeepaliveTimeoutMs = 30'000;
constexpr Nanos kIdle = Nanos::FromSeconds(300);  // also for a client that sends nothing; a good client reconnects
constexpr Nanos kRefusedIdle = Nanos::FromSeconds(5);

}  // namespace

Result<std::unique_ptr<ConnectionServer>> ConnectionServer::Start(UniqueFd connection, ConnectionShare share,
                                                                  std::unique_ptr<ConnectionServices> services) {
  std::unique_ptr<ConnectionServer> server(new ConnectionServer(std::move(share)));
  server->services_ = std::move(services);
  grpc::ServerBuilder builder;
  if (server->services_->is_remote()) {
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kRemoteKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kRemoteKeepaliveTimeoutMs);
  } else {
    builder.SetOption(ReflectionOption());
  }
  for (grpc::Service* service : server->services_->services()) {
    builder.RegisterService(service);
  }
  PP_RETURN_IF_ERROR(server->Serve(builder, std::move(connection), kIdle));
  return server;
}

Result<std::unique_ptr<ConnectionServer>> ConnectionServer::StartRefusing(UniqueFd connection, ConnectionShare share,
                                                                          const Error& why) {
  std::unique_ptr<ConnectionServer> server(new ConnectionServer(std::move(share)));
  server->refusal_ = std::make_unique<RefusingService>(why);
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(server->refusal_.get());
  PP_RETURN_IF_ERROR(server->Serve(builder, std::move(connection), kRefusedIdle));
  return server;
}

Result<void> ConnectionServer::Serve(grpc::ServerBuilder& builder, UniqueFd connection, Nanos idle) {
  static std::once_flag once;
  std::call_once(once, [] { grpc::EnableDefaultHealthCheckService(true); });  // for all servers created from now on
  InstallCallGuard(builder, known_);
  builder.SetResourceQuota(*share_.memory);
  builder.SetMaxReceiveMessageSize(kMaxRequest);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, share_.calls);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, static_cast<int>(kMaxMetadata));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, static_cast<int>(idle.value / 1'000'000));
  static std::mutex one_at_a_time;  // for FindSocket
  const std::lock_guard lock(one_at_a_time);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return Error{Code::kInternal, "cannot start a gRPC server for a connection", "free some memory or threads"};
  }
  const int fd = connection.release();
  grpc::AddInsecureChannelFromFd(server_.get(), fd);
  socket_ = FindSocket(fd);
  return {};
}

ConnectionServer::Calls ConnectionServer::CountCalls() const {
  const uint64_t open = CountOpenCalls(socket_);
  return {open, open - std::min(open, known_->count.load()), static_cast<uint64_t>(share_.calls)};
}

ConnectionServer::ConnectionServer(ConnectionShare share) : share_(std::move(share)) {}

ConnectionServer::~ConnectionServer() { Shutdown(Nanos()); }

void ConnectionServer::Shutdown(Nanos patience) {
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::nanoseconds(patience.value));
    server_->Wait();
    server_.reset();
  }
}

}  // namespace ptrace_prof
