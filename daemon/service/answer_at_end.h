// Unary calls whose answers are large: those that are answered when a hidden capture has ended (a dump, a listing, a
// diagnosis), and lists. What a client does not take counts among what is kept for its user, and is refused where that
// is too much (daemon/session/unsent_bytes.h).
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>

#include "daemon/session/capture_session.h"
#include "daemon/session/unsent_bytes.h"

namespace ptrace_prof {

// What a call answers, and for whom; the message is the call's.
struct HeldAnswer {
  UnsentBytes& unsent;
  uint32_t user = 0;
  google::protobuf::MessageLite& message;
};

// Waits for `session` without blocking a thread, then lets `fill` write the message and say how the call ends. The
// reactor deletes itself; if the call is cancelled before, the capture is too.
grpc::ServerUnaryReactor* AnswerAtEnd(std::shared_ptr<CaptureSession> session, HeldAnswer answer,
                                      std::function<grpc::Status(const CaptureSession&)> fill);
// The message is written already, or `outcome` says why there is none.
grpc::ServerUnaryReactor* AnswerNow(HeldAnswer answer, const Result<void>& outcome);
// For those whose message is a part of a stream.
Error NoRoomForAnswer(size_t bytes);

// Shows the trace of a capture that has ended to `visitor`; an error when that says why it holds nothing.
Result<void> ReadWholeTrace(const CaptureSession& session, TraceVisitor& visitor);

}  // namespace ptrace_prof
