// DumpStacks, and the check behind validate_only: a capture of one sample that nobody sees, and the answer when it has
// ended.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>

#include "daemon/session/capture_session.h"

namespace ptraceprof::v1 {
class DumpStacksResponse;
}

namespace ptrace_prof {

// Waits for `session` (a dump) without blocking a thread, then lets `answer` say how the call ends. The reactor deletes
// itself; if the call is cancelled before, the dump is too.
grpc::ServerUnaryReactor* StartDump(std::shared_ptr<CaptureSession> session,
                                    std::function<grpc::Status(CaptureSession&)> answer);

// The whole trace and the stacks in it; an error when it holds none, and says why.
grpc::Status FillDump(CaptureSession& session, ptraceprof::v1::DumpStacksResponse* out);

}  // namespace ptrace_prof
