// Server reflection without a thread. gRPC's own uses its blocking interface and costs one thread per server, which is
// too much when every connection is a server.
#pragma once

#include <memory>

namespace grpc {
class ServerBuilderOption;
}

namespace ptrace_prof {

// For ServerBuilder::SetOption: the server then describes all its services, including this one.
std::unique_ptr<grpc::ServerBuilderOption> ReflectionOption();

}  // namespace ptrace_prof
