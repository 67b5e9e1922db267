// Server reflection without a thread: gRPC's own is built on its blocking interface and costs each server one, which is
// too much where every connection is a server.
#pragma once

#include <memory>

namespace grpc {
class ServerBuilderOption;
}

namespace ptrace_prof {

// For ServerBuilder::SetOption: the server then describes all of its services, this one included.
std::unique_ptr<grpc::ServerBuilderOption> ReflectionOption();

}  // namespace ptrace_prof
