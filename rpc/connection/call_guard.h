// Stands before every call of a connection's server: counts those that a service knows of, and ends those whose
// metadata is larger than it may be, which gRPC refuses by itself only where the client has confirmed that limit.
//
// One for a connection; the counter is shared with whoever watches it. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace grpc {
class ServerBuilder;
}

namespace ptrace_prof {

struct KnownCalls {
  std::atomic<uint64_t> count = 0;  // whose request has come, and that have not ended
};

void InstallCallGuard(grpc::ServerBuilder& builder, std::shared_ptr<KnownCalls> known);

}  // namespace ptrace_prof
