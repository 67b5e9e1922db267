// The socket for Prometheus scrapers: "127.0.0.1:9465", "[::1]:9465", "unix:/run/…/metrics.sock". Stateless. Bound
// while the daemon is privileged.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

enum class ScrapeReach : uint8_t {
  kThisMachine,  // only loopback addresses are accepted
  kAnywhere,
};

struct MetricsSocket {
  UniqueFd fd;          // listening
  std::string address;  // with the actual port
  std::string path;     // of a Unix socket; empty: none
};

// Host names other than "localhost" are not looked up. A Unix socket is made as by ListenOnUnixSocket, for its owner
// only.
Result<MetricsSocket> ListenForScrapers(const std::string& address, ScrapeReach reach);

}  // namespace ptrace_prof
