// Where scrapers of Prometheus reach us: "127.0.0.1:9465", "[::1]:9465", "unix:/run/…/metrics.sock". Stateless. Bound
// while the daemon has its rights.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

enum class ScrapeReach : uint8_t {
  kThisMachine,  // other addresses than those of the loopback are refused
  kAnywhere,
};

struct MetricsSocket {
  UniqueFd fd;          // listens
  std::string address;  // with the port that it got
  std::string path;     // of a Unix socket; empty: none
};

// Names of hosts are not looked up, but for "localhost". Of a Unix socket: as ListenOnUnixSocket says, for its owner.
Result<MetricsSocket> ListenForScrapers(const std::string& address, ScrapeReach reach);

}  // namespace ptrace_prof
