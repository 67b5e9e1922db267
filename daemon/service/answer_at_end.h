// A unary call that is answered when a hidden capture has ended: a dump, a listing, a diagnosis.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>

#include "daemon/session/capture_session.h"

namespace ptrace_prof {

// Waits for `session` without blocking a thread, then lets `answer` say how the call ends. The reactor deletes itself;
// if the call is cancelled before, the capture is too.
grpc::ServerUnaryReactor* AnswerAtEnd(std::shared_ptr<CaptureSession> session,
                                      std::function<grpc::Status(const CaptureSession&)> answer);

// Shows the trace of a capture that has ended to `visitor`; an error when that says why it holds nothing.
Result<void> ReadWholeTrace(const CaptureSession& session, TraceVisitor& visitor);

}  // namespace ptrace_prof
