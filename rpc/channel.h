// The client's end of a connection to a server: "unix:PATH" or "HOST:PORT".
//
// Stateless. The channel that is returned has been seen to work; gRPC connects it again when it breaks.
#pragma once

#include <memory>
#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace grpc {
class Channel;
}

namespace ptrace_prof {

inline constexpr Nanos kConnectPatience = Nanos(5'000'000'000);

// kInvalidArgument: no address; kNotFound, kPermissionDenied, kUnavailable (nobody answers, or not in time): each with
// the address, what the system says about it, and what to do.
Result<std::shared_ptr<grpc::Channel>> ConnectChannel(const std::string& address, Nanos patience = kConnectPatience);

}  // namespace ptrace_prof
