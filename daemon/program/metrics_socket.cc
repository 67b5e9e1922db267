#include "daemon/program/metrics_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "rpc/unix_socket.h"

namespace ptrace_prof {
namespace {

constexpr int kBacklog = 16;

union AnyAddress {
  sockaddr generic;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

struct Endpoint {
  AnyAddress address{};
  socklen_t size = 0;
  bool is_loopback = false;
};

Error BadAddress(const std::string& written) {
  return Error{Code::kInvalidArgument, fmt::format("--metrics '{}' is no address", written),
               "give 127.0.0.1:PORT, [::1]:PORT or unix:PATH"};
}

Result<Endpoint> ParseEndpoint(const std::string& written) {
  const size_t colon = written.rfind(':');
  std::string host = colon == std::string::npos ? "" : written.substr(0, colon);
  const std::string_view port_text = std::string_view(written).substr(colon + 1);
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (error != std::errc() || end != port_text.data() + port_text.size()) {
    return BadAddress(written);
  }
  host = host == "localhost" ? "127.0.0.1" : host;
  Endpoint endpoint;
  if (::inet_pton(AF_INET, host.c_str(), &endpoint.address.v4.sin_addr) == 1) {
    endpoint.address.v4.sin_family = AF_INET;
    endpoint.address.v4.sin_port = htons(port);
    endpoint.size = sizeof endpoint.address.v4;
    endpoint.is_loopback = ntohl(endpoint.address.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return endpoint;
  }
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  in6_addr v6{};
  if (!has_brackets || ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6) != 1) {
    return BadAddress(written);
  }
  endpoint.address.v6 = {};
  endpoint.address.v6.sin6_family = AF_INET6;
  endpoint.address.v6.sin6_addr = v6;
  endpoint.address.v6.sin6_port = htons(port);
  endpoint.size = sizeof endpoint.address.v6;
  endpoint.is_loopback = IN6_IS_ADDR_LOOPBACK(&v6);
  return endpoint;
}

Result<MetricsSocket> ListenOnEndpoint(const std::string& written, Endpoint endpoint) {
  MetricsSocket metrics;
  metrics.fd.reset(::socket(endpoint.address.generic.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!metrics.fd.is_open() || ::setsockopt(metrics.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(metrics.fd.get(), &endpoint.address.generic, endpoint.size) != 0 ||
      ::listen(metrics.fd.get(), kBacklog) != 0 ||
      ::getsockname(metrics.fd.get(), &endpoint.address.generic, &endpoint.size) != 0) {
    return ErrnoError(errno, fmt::format("cannot listen on {} for scrapers", written),
                      "choose another address with --metrics");
  }
  const uint16_t port = ntohs(endpoint.address.generic.sa_family == AF_INET ? endpoint.address.v4.sin_port
                                                                            : endpoint.address.v6.sin6_port);
  metrics.address = written.substr(0, written.rfind(':') + 1) + std::to_string(port);
  return metrics;
}

}  // namespace

Result<MetricsSocket> ListenForScrapers(const std::string& address, ScrapeReach reach) {
  constexpr std::string_view kUnix = "unix:";
  if (address.starts_with(kUnix) || address.starts_with('/')) {
    MetricsSocket metrics;
    metrics.path = address.starts_with('/') ? address : address.substr(kUnix.size());
    PP_ASSIGN_OR_RETURN(metrics.fd, ListenOnUnixSocket(metrics.path));
    metrics.address = std::string(kUnix) + metrics.path;
    return metrics;
  }
  PP_ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(address));
  if (!endpoint.is_loopback && reach == ScrapeReach::kThisMachine) {
    return Error{
        Code::kPermissionDenied,
        fmt::format("--metrics {} can be reached from other machines, without anybody being asked who they are",
                    address),
        "give 127.0.0.1:PORT or unix:PATH, or add --metrics-remote if that is meant"};
  }
  return ListenOnEndpoint(address, endpoint);
}

}  // namespace ptrace_prof
