// Listening on a TCP address: "127.0.0.1:9465", "[::1]:9465", "0.0.0.0:7443". Stateless. Names of hosts are not looked
// up, but for "localhost".
#pragma once

#include <string>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

struct TcpListener {
  UniqueFd fd;
  std::string address;  // with the port that it got, where 0 was asked for
};

struct TcpEndpoint {
  std::string host;  // a number, without brackets
  uint16_t port = 0;
  bool is_v6 = false;
  bool is_loopback = false;
};

// `option`: which one it was given to, for messages. kInvalidArgument: no address.
Result<TcpEndpoint> ParseTcpEndpoint(const std::string& written, const std::string& option);
Result<TcpListener> ListenOnTcp(const TcpEndpoint& endpoint, const std::string& option, int backlog);

// Who is at the other end: "10.0.0.3:41234", and without the port. Empty where the kernel does not say.
struct TcpPeer {
  std::string address;
  std::string host;  // of IPv6 the /64, which is what one machine has
};
TcpPeer PeerOf(int connection);

}  // namespace ptrace_prof
