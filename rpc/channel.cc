#include "rpc/channel.h"

#include <fmt/format.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <string_view>

#include "rpc/call_metadata.h"
#include "rpc/connection/message_limits.h"
#include "rpc/connection/status.h"
#include "rpc/munge/munge_credential.h"
#include "rpc/tls/tls_trouble.h"
#include "rpc/unix/unix_socket.h"

namespace ptrace_prof {
namespace {

constexpr std::chrono::milliseconds kLookEvery(100);
constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kTls = "tls://";
constexpr int kKeepaliveMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 10'000;
constexpr int kFirstReconnectMs = 100;  // a restarted daemon is back within a moment
constexpr int kSlowestReconnectMs = 2'000;

constexpr char kCaOption[] = "--tls-ca";
constexpr char kCertOption[] = "--tls-cert";
constexpr char kKeyOption[] = "--tls-key";

// "CA" for "--tls-ca".
std::string VariableOf(std::string_view option) {
  std::string name(option.substr(option.rfind('-') + 1));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

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
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // nodes of a cluster are not behind the proxy for the web
  arguments.SetMaxReceiveMessageSize(kMaxResponse);
  return arguments;
}

// A server without the health service, or in bad health, still counts as an answer.
bool IsAnswer(const grpc::Status& status) {
  return status.ok() || status.error_code() == grpc::StatusCode::NOT_FOUND ||
         status.error_code() == grpc::StatusCode::UNIMPLEMENTED;
}

// Set by us when the caller gives up; no server sends this code.
const grpc::Status kGivenUp(grpc::StatusCode::DO_NOT_USE, "");

// Asks for the server's health. Unlike waiting for the channel, this reports why the connection fails.
grpc::Status Ask(const std::shared_ptr<grpc::Channel>& channel, const ChannelOptions& options) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::nanoseconds(options.patience.value));
  const grpc::Slice nothing("", 0);
  const grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer response;
  const auto done = std::make_shared<std::promise<grpc::Status>>();  // the callback may run after the return
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &response,
                 [done](grpc::Status status) { done->set_value(std::move(status)); });
  auto answer = done->get_future();
  bool gave_up = false;
  while (answer.wait_for(kLookEvery) != std::future_status::ready) {
    if (options.has_enough()) {
      gave_up = true;
      context.TryCancel();
    }
  }
  const grpc::Status status = answer.get();
  return gave_up && !IsAnswer(status) ? kGivenUp : status;
}

// The socket's accept queue in the kernel was full. gRPC never waits in that queue: connect returns EAGAIN, gRPC takes
// it for a connection in progress and then finds none (EINVAL of recvmsg).
bool FoundNoPlace(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE && ReasonOf(status).empty() &&
         (status.error_message().find(::strerror(EINVAL)) != std::string::npos ||
          status.error_message().find(::strerror(EAGAIN)) != std::string::npos);
}

Error NoAnswer(const std::string& address, const grpc::Status& status) {
  const bool late = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  return Because(Reason::kServerUnreachable,
                 fmt::format("cannot connect to {}: {}", address, late ? "no answer in time" : status.error_message()),
                 "check that ptrace-profd runs there, and that the address is right", "server " + address);
}

// The name that the server's certificate is checked against.
std::string ServerName(const std::string& server, const ChannelOptions& options) {
  std::string name = options.server_name.empty() ? server.substr(0, server.rfind(':')) : options.server_name;
  return name.size() > 2 && name.front() == '[' ? name.substr(1, name.size() - 2) : name;
}

// `address`: the server that requires the file.
Result<std::string> ReadPem(const std::string& file, const char* option, const std::string& address) {
  std::ifstream in(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (file.empty() || !in.good() || text.empty()) {
    return Error{Code::kInvalidArgument,
                 file.empty() ? fmt::format("{} needs {}", address, option)
                              : fmt::format("cannot read {} ({} for {})", file, option, address),
                 fmt::format("give a PEM file with {} or in $PTRACE_PROF_TLS_{}", option, VariableOf(option))};
  }
  return text;
}

Result<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(const std::string& address,
                                                                 const ChannelOptions& options) {
  grpc::SslCredentialsOptions pem;
  PP_ASSIGN_OR_RETURN(pem.pem_root_certs, ReadPem(options.tls.authority, kCaOption, address));
  PP_ASSIGN_OR_RETURN(pem.pem_cert_chain, ReadPem(options.tls.certificate, kCertOption, address));
  PP_ASSIGN_OR_RETURN(pem.pem_private_key, ReadPem(options.tls.key, kKeyOption, address));
  auto credentials = grpc::SslCredentials(pem);
  CallMetadata metadata{options.user, options.munge, ServerName(address.substr(kTls.size()), options)};
  if (metadata.is_empty()) {
    return credentials;
  }
  if (options.munge.has_value()) {  // tried here: in a call, gRPC would report it as a broken connection
    PP_ASSIGN_OR_RETURN(const std::string unused, MakeMungeCredential("", *options.munge));
  }
  return grpc::CompositeChannelCredentials(credentials, CallCredentialsFor(std::move(metadata)));
}

// Uses the server's own error if it sent one, else runs a handshake of our own to find the cause.
Error WhyNotOverTls(const std::string& address, const grpc::Status& status, const ChannelOptions& options) {
  if (!ReasonOf(status).empty()) {
    return FromStatus(status);
  }
  const std::string server = address.substr(kTls.size());
  Error found = ExplainTls(server, ServerName(server, options), options.tls);
  return found.message.empty() ? NoAnswer(address, status) : found;
}

}  // namespace

Result<std::shared_ptr<grpc::Channel>> ConnectChannel(const std::string& address, const ChannelOptions& options) {
  const bool is_unix = address.starts_with(kUnix);
  const bool is_tls = address.starts_with(kTls);
  const std::string server = is_tls ? address.substr(kTls.size()) : address;
  if (!is_unix && !IsHostPort(server)) {
    return Error{Code::kInvalidArgument, fmt::format("'{}' is not a server address", address),
                 "addresses are unix:PATH, tls://HOST:PORT and HOST:PORT"};
  }
  if (!is_tls && !options.user.empty()) {
    return Error{Code::kInvalidArgument, fmt::format("--as needs TLS, which {} does not use", address),
                 "leave --as out, or connect over TLS: --host tls://HOST:PORT"};
  }
  if (!is_tls && options.munge.has_value()) {
    return Error{Code::kInvalidArgument, fmt::format("--munge needs TLS, which {} does not use", address),
                 "leave --munge out, or connect over TLS: --host tls://HOST:PORT"};
  }
  grpc::ChannelArguments arguments = Arguments();
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (is_tls) {
    PP_ASSIGN_OR_RETURN(credentials, TlsCredentials(address, options));
    if (!options.server_name.empty()) {
      arguments.SetSslTargetNameOverride(options.server_name);
    }
  }
  const Nanos deadline = MonotonicNow() + options.patience;
  std::shared_ptr<grpc::Channel> channel = grpc::CreateCustomChannel(server, credentials, arguments);
  grpc::Status status = Ask(channel, options);
  while (is_unix && FoundNoPlace(status) && MonotonicNow() < deadline) {
    // The probe waits in the queue with the other clients. Once it is accepted, the queue has room again.
    PP_ASSIGN_OR_RETURN(const UniqueFd probe, ConnectToUnixSocket(address.substr(kUnix.size())));
    channel = grpc::CreateCustomChannel(server, credentials, arguments);
    status = Ask(channel, options);
  }
  if (IsAnswer(status)) {
    return channel;
  }
  if (status.error_code() == kGivenUp.error_code()) {
    return Error{Code::kCancelled, fmt::format("aborted before {} answered", address), ""};
  }
  if (is_unix) {  // a direct connect reports a more precise error than gRPC
    PP_ASSIGN_OR_RETURN(const UniqueFd probe, ConnectToUnixSocket(address.substr(kUnix.size())));
  }
  if (is_tls) {
    return WhyNotOverTls(address, status, options);
  }
  return NoAnswer(address, status);
}

}  // namespace ptrace_prof
