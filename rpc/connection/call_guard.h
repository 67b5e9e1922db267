// An interceptor before every call of a connection's server. It counts the calls that a service has received, and ends
// those whose metadata is too large. gRPC refuses large metadata only once the client has confirmed the limit.
//
// One guard per connection; the counter is shared with the code that reads it. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace grpc {
class ServerBuilder;
}

namespace ptrace_prof {

struct KnownCalls {
  std::atomic<uint64_t> count = 0;  // calls whose request has arrived and that have not ended
};

void InstallCallGuard(grpc::ServerBuilder& builder, std::shared_ptr<KnownCalls> known);

}  // namespace ptrace_prof
