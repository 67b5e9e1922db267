#include "rpc/channel.h"

#include <fmt/format.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <chrono>
#include <future>
#include <string_view>

#include "rpc/message_limits.h"
#include "rpc/unix_socket.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr int kKeepaliveMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 10'000;
constexpr int kFirstReconnectMs = 100;  // a daemon that was restarted is there again in a moment
constexpr int kSlowestReconnectMs = 2'000;

bool IsHostPort(std::string_view address) {
  const size_t colon = address.rfind(':');
  return colon != std::string_view::npos && colon > 0 && colon + 1 < address.size() &&
         address.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
}

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kSlowestReconnectMs);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // the nodes of a cluster are not behind the way to the web
  arguments.SetMaxReceiveMessageSize(kMaxResponse);
  return arguments;
}

// Asks for the server's health: unlike waiting for the channel, this says why it does not work.
grpc::Status Ask(const std::shared_ptr<grpc::Channel>& channel, Nanos patience) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::nanoseconds(patience.value));
  const grpc::Slice nothing("", 0);
  const grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer response;
  const auto done = std::make_shared<std::promise<grpc::Status>>();  // the callback may return after us
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &response,
                 [done](grpc::Status status) { done->set_value(std::move(status)); });
  return done->get_future().get();
}

// A server without that service, or in ill health, is a server.
bool IsAnswer(const grpc::Status& status) {
  return status.ok() || status.error_code() == grpc::StatusCode::NOT_FOUND ||
         status.error_code() == grpc::StatusCode::UNIMPLEMENTED;
}

Error NoAnswer(const std::string& address, const grpc::Status& status) {
  const bool late = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  return Because(Reason::kServerUnreachable,
                 fmt::format("cannot connect to {}: {}", address, late ? "no answer in time" : status.error_message()),
                 "does ptrace-profd run there, and is the address right?", "server " + address);
}

}  // namespace

Result<std::shared_ptr<grpc::Channel>> ConnectChannel(const std::string& address, Nanos patience) {
  const bool is_unix = address.starts_with(kUnix);
  if (!is_unix && !IsHostPort(address)) {
    return Error{Code::kInvalidArgument, fmt::format("'{}' is no address of a server", address),
                 "addresses are unix:PATH and HOST:PORT"};
  }
  std::shared_ptr<grpc::Channel> channel =
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), Arguments());
  const grpc::Status status = Ask(channel, patience);
  if (IsAnswer(status)) {
    return channel;
  }
  if (is_unix) {  // asked directly, the kernel is more precise than gRPC
    PP_ASSIGN_OR_RETURN(const UniqueFd probe, ConnectToUnixSocket(address.substr(kUnix.size())));
  }
  return NoAnswer(address, status);
}

}  // namespace ptrace_prof
