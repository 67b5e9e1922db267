// The client's end of a connection to a server: "unix:PATH", "tls://HOST:PORT" or, without encryption, "HOST:PORT".
//
// Stateless. The channel that is returned has been seen to work; gRPC connects it again when it breaks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "rpc/tls/tls_files.h"

namespace grpc {
class Channel;
}

namespace ptrace_prof {

inline constexpr Nanos kConnectPatience = Nanos(5'000'000'000);

struct ChannelOptions {
  TlsFiles tls;             // of a tls:// address
  std::string server_name;  // that its certificate is for; empty: the host of the address
  std::string user;         // as whom all calls are made, if the certificate may speak for several; empty: not said
  // The socket of munged, of which each call gets a credential; nothing: none. Of a tls:// address.
  std::optional<std::string> munge = std::nullopt;
  Nanos patience = kConnectPatience;
  std::function<bool()> has_enough = [] { return false; };  // asked while we wait: whether to give up
};

// kInvalidArgument: no address, or files that are none; kUnavailable: munged does not answer; kNotFound,
// kPermissionDenied, kUnauthenticated (it does not want us), kUnavailable (nobody answers, or not in time), kCancelled:
// each with the address, what the system says about it, and what to do.
Result<std::shared_ptr<grpc::Channel>> ConnectChannel(const std::string& address, const ChannelOptions& options = {});

}  // namespace ptrace_prof
