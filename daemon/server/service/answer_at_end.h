// Unary calls with late or large answers: those answered when a hidden capture has ended (a dump, a listing, a
// diagnosis) or when a capture has started, and lists. None of them blocks a gRPC thread. An answer that the client has
// not read counts against its user, and is refused above the limit (daemon/server/captures/unsent_bytes.h).
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>

#include "daemon/server/captures/capture_session.h"
#include "daemon/server/captures/start_pool.h"
#include "daemon/server/captures/unsent_bytes.h"

namespace ptrace_prof {

// Where an answer is built and accounted; the message belongs to the call.
struct HeldAnswer {
  UnsentBytes& unsent;
  StartPool& pool;
  uint32_t user = 0;
  google::protobuf::MessageLite& message;
};

using StartOfCapture = std::function<Result<std::shared_ptr<CaptureSession>>()>;
using FillAnswer = std::function<grpc::Status(const CaptureSession&)>;

// Calls `start` on a thread of the pool, and `fill` when that capture has ended: `fill` writes the message and returns
// the call's status. The reactor deletes itself. Cancelling the call cancels the capture.
grpc::ServerUnaryReactor* AnswerAtEnd(StartOfCapture start, HeldAnswer answer, FillAnswer fill);
// The same, but `fill` is called when the capture has started; it then goes on even if the call ends.
grpc::ServerUnaryReactor* AnswerAtStart(StartOfCapture start, HeldAnswer answer, FillAnswer fill);
// The message is complete already, or `outcome` is the error.
grpc::ServerUnaryReactor* AnswerNow(HeldAnswer answer, const Result<void>& outcome);
// The error of an answer without room; also used for messages of a stream.
Error NoRoomForAnswer(size_t bytes);

// Reads the trace of an ended capture with `visitor`; returns the trace's own error if it holds no data.
Result<void> ReadWholeTrace(const CaptureSession& session, TraceVisitor& visitor);

}  // namespace ptrace_prof
