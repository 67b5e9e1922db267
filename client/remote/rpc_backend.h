// Captures over a gRPC channel: to a daemon, or to the service inside this very process.
//
// Start() returns when the capture exists, or with the error that the service gave. Not for commands: whoever can
// launch one wraps this (client/cli/embedded.cc). The channel is used from gRPC's threads; the streams are for one
// thread.
#pragma once

#include <memory>

#include "client/remote/capture_backend.h"

namespace grpc {
class Channel;
}

namespace ptrace_prof {

std::unique_ptr<CaptureBackend> MakeRpcBackend(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace ptrace_prof
