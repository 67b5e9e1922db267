// Listens on a TCP address: "127.0.0.1:9465", "[::1]:9465", "0.0.0.0:7443". Stateless. Host names are not looked up,
// except "localhost".
#pragma once

#include <string>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

struct TcpListener {
  UniqueFd fd;
  std::string address;  // with the actual port, if port 0 was requested
};

struct TcpEndpoint {
  std::string host;  // numeric, without brackets
  uint16_t port = 0;
  bool is_v6 = false;
  bool is_loopback = false;
};

// `option`: the option that has the address, for messages. kInvalidArgument: not an address.
Result<TcpEndpoint> ParseTcpEndpoint(const std::string& written, const std::string& option);
Result<TcpListener> ListenOnTcp(const TcpEndpoint& endpoint, const std::string& option, int backlog);

// The peer's address: "10.0.0.3:41234", and the host without the port. Empty if the kernel does not know it.
struct TcpPeer {
  std::string address;
  std::string host;  // for IPv6 the /64, as one machine has a whole /64
};
TcpPeer PeerOf(int connection);

}  // namespace ptrace_prof
