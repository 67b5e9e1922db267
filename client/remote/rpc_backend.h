// Captures over a gRPC channel, to a daemon or to the service inside this process.
//
// Start() returns when the capture exists, or with the service's error. It cannot launch commands;
// client/cli/embedded.cc wraps it for that. gRPC's threads use the channel; each stream is for one thread.
#pragma once

#include <memory>

#include "client/remote/capture_backend.h"

namespace grpc {
class Channel;
}

namespace ptrace_prof {

std::unique_ptr<CaptureBackend> MakeRpcBackend(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace ptrace_prof
