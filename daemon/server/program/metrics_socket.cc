#include "daemon/server/program/metrics_socket.h"

#include <fmt/format.h>

#include <string_view>

#include "rpc/tls/tcp_socket.h"
#include "rpc/unix/unix_socket.h"

namespace ptrace_prof {
namespace {

constexpr int kBacklog = 16;

constexpr char kOption[] = "--metrics";

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
  PP_ASSIGN_OR_RETURN(const TcpEndpoint endpoint, ParseTcpEndpoint(address, kOption));
  if (!endpoint.is_loopback && reach == ScrapeReach::kThisMachine) {
    return Error{Code::kPermissionDenied,
                 fmt::format("--metrics {} can be reached from other machines without authentication", address),
                 "give 127.0.0.1:PORT or unix:PATH, or add --metrics-remote if this is intended"};
  }
  PP_ASSIGN_OR_RETURN(TcpListener listener, ListenOnTcp(endpoint, kOption, kBacklog));
  return MetricsSocket{std::move(listener.fd), std::move(listener.address), ""};
}

}  // namespace ptrace_prof
