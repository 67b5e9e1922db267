// Unary calls that do not answer at once, or much: those that are answered when a hidden capture has ended (a dump, a
// listing, a diagnosis), or when a capture has been started, and lists. None of them blocks a thread of gRPC's. What a
// client does not take counts among what is kept for its user, and is refused where that is too much
// (daemon/server/captures/unsent_bytes.h).
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>

#include "daemon/server/captures/capture_session.h"
#include "daemon/server/captures/start_pool.h"
#include "daemon/server/captures/unsent_bytes.h"

namespace ptrace_prof {

// What a call answers, and for whom; the message is the call's.
struct HeldAnswer {
  UnsentBytes& unsent;
  StartPool& pool;
  uint32_t user = 0;
  google::protobuf::MessageLite& message;
};

using StartOfCapture = std::function<Result<std::shared_ptr<CaptureSession>>()>;
using FillAnswer = std::function<grpc::Status(const CaptureSession&)>;

// Has `start` called on a thread of the pool, and `fill` when that capture has ended: it writes the message and says
// how the call ends. The reactor deletes itself; if the call is cancelled before, the capture is too.
grpc::ServerUnaryReactor* AnswerAtEnd(StartOfCapture start, HeldAnswer answer, FillAnswer fill);
// The same when it has been started; then it goes on whatever becomes of the call.
grpc::ServerUnaryReactor* AnswerAtStart(StartOfCapture start, HeldAnswer answer, FillAnswer fill);
// The message is written already, or `outcome` says why there is none.
grpc::ServerUnaryReactor* AnswerNow(HeldAnswer answer, const Result<void>& outcome);
// For those whose message is a part of a stream.
Error NoRoomForAnswer(size_t bytes);

// Shows the trace of a capture that has ended to `visitor`; an error when that says why it holds nothing.
Result<void> ReadWholeTrace(const CaptureSession& session, TraceVisitor& visitor);

}  // namespace ptrace_prof
