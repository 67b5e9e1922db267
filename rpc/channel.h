// The client's end of a connection to a server: "unix:PATH", "tls://HOST:PORT" or, without encryption, "HOST:PORT".
//
// Stateless. The server has answered on the returned channel. gRPC reconnects it when it breaks.
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
  TlsFiles tls;             // for a tls:// address
  std::string server_name;  // the name in the server's certificate; empty: the host of the address
  std::string user;         // the user that all calls are made as, if the certificate may act for several; empty: not
                            // sent
  // For a tls:// address: the socket of the munged that makes a credential for each call; nothing: no credentials.
  std::optional<std::string> munge = std::nullopt;
  Nanos patience = kConnectPatience;
  std::function<bool()> has_enough = [] { return false; };  // called while we wait: whether to give up
};

// kInvalidArgument: not an address, or a file without the expected PEM content; kNotFound; kPermissionDenied;
// kUnauthenticated: the server refuses us; kUnavailable: munged or the server does not answer in time; kCancelled. Each
// names the address, the cause that the system gives, and the remedy.
Result<std::shared_ptr<grpc::Channel>> ConnectChannel(const std::string& address, const ChannelOptions& options = {});

}  // namespace ptrace_prof
