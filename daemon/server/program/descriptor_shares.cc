#include "daemon/server/program/descriptor_shares.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr uint64_t kPerConnection = 2;
constexpr uint64_t kPerCapture = 8;
constexpr uint64_t kMostConnections = 1000;
constexpr uint64_t kMostConnectionsPerUser = 500;

}  // namespace

DescriptorShares SharesOf(uint64_t descriptors) {
  const uint64_t connections = std::clamp<uint64_t>(descriptors / 2 / kPerConnection, 4, kMostConnections);
  const uint64_t captures = std::max<uint64_t>(descriptors / 3 / kPerCapture / 2, 1);
  return {.connections = connections,
          .connections_per_user = std::min(connections / 2, kMostConnectionsPerUser),
          .captures_per_user = captures,
          .live_per_user = std::max<uint64_t>(captures / 2, 1)};
}

}  // namespace ptrace_prof
