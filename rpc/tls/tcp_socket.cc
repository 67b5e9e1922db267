#include "rpc/tls/tcp_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace ptrace_prof {
namespace {

union AnyAddress {
  sockaddr generic;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

struct BoundAddress {
  AnyAddress address{};
  socklen_t size = 0;
};

Error BadAddress(const std::string& written, const std::string& option) {
  return {Code::kInvalidArgument, fmt::format("{} '{}' is not a valid address", option, written),
          "give 127.0.0.1:PORT, [::1]:PORT or another numeric address of this machine"};
}

BoundAddress AddressOf(const TcpEndpoint& endpoint) {
  BoundAddress bound;
  if (endpoint.is_v6) {
    bound.address.v6 = {};
    bound.address.v6.sin6_family = AF_INET6;
    bound.address.v6.sin6_port = htons(endpoint.port);
    bound.size = sizeof bound.address.v6;
    ::inet_pton(AF_INET6, endpoint.host.c_str(), &bound.address.v6.sin6_addr);
    return bound;
  }
  bound.address.v4 = {};
  bound.address.v4.sin_family = AF_INET;
  bound.address.v4.sin_port = htons(endpoint.port);
  bound.size = sizeof bound.address.v4;
  ::inet_pton(AF_INET, endpoint.host.c_str(), &bound.address.v4.sin_addr);
  return bound;
}

}  // namespace

Result<TcpEndpoint> ParseTcpEndpoint(const std::string& written, const std::string& option) {
  const size_t colon = written.rfind(':');
  TcpEndpoint endpoint;
  endpoint.host = colon == std::string::npos ? "" : written.substr(0, colon);
  const std::string_view port = std::string_view(written).substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (endpoint.host.empty() || error != std::errc() || end != port.data() + port.size()) {
    return BadAddress(written, option);
  }
  endpoint.host = endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host;
  if (in_addr v4{}; ::inet_pton(AF_INET, endpoint.host.c_str(), &v4) == 1) {
    endpoint.is_loopback = ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
    return endpoint;
  }
  const bool has_brackets = endpoint.host.size() > 2 && endpoint.host.front() == '[' && endpoint.host.back() == ']';
  endpoint.host = has_brackets ? endpoint.host.substr(1, endpoint.host.size() - 2) : "";
  in6_addr v6{};
  if (::inet_pton(AF_INET6, endpoint.host.c_str(), &v6) != 1) {
    return BadAddress(written, option);
  }
  endpoint.is_v6 = true;
  endpoint.is_loopback = IN6_IS_ADDR_LOOPBACK(&v6);
  return endpoint;
}

Result<TcpListener> ListenOnTcp(const TcpEndpoint& endpoint, const std::string& option, int backlog) {
  BoundAddress bound = AddressOf(endpoint);
  const std::string host = endpoint.is_v6 ? fmt::format("[{}]", endpoint.host) : endpoint.host;
  TcpListener listener;
  listener.fd.reset(::socket(bound.address.generic.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!listener.fd.is_open() || ::setsockopt(listener.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(listener.fd.get(), &bound.address.generic, bound.size) != 0 || ::listen(listener.fd.get(), backlog) != 0 ||
      ::getsockname(listener.fd.get(), &bound.address.generic, &bound.size) != 0) {
    return ErrnoError(errno, fmt::format("cannot listen on {}:{}", host, endpoint.port),
                      fmt::format("choose another address with {}", option));
  }
  const in_port_t port = endpoint.is_v6 ? bound.address.v6.sin6_port : bound.address.v4.sin_port;
  listener.address = fmt::format("{}:{}", host, ntohs(port));
  return listener;
}

TcpPeer PeerOf(int connection) {
  BoundAddress peer;
  peer.size = sizeof peer.address;
  char text[INET6_ADDRSTRLEN] = {};
  if (::getpeername(connection, &peer.address.generic, &peer.size) != 0) {
    return {};
  }
  if (peer.address.generic.sa_family == AF_INET) {
    ::inet_ntop(AF_INET, &peer.address.v4.sin_addr, text, sizeof text);
    return {fmt::format("{}:{}", text, ntohs(peer.address.v4.sin_port)), text};
  }
  ::inet_ntop(AF_INET6, &peer.address.v6.sin6_addr, text, sizeof text);
  const uint16_t port = ntohs(peer.address.v6.sin6_port);
  return {fmt::format("[{}]:{}", text, port),
          std::string(reinterpret_cast<const char*>(&peer.address.v6.sin6_addr), 8)};
}

}  // namespace ptrace_prof
