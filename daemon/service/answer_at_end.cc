#include "daemon/service/answer_at_end.h"

#include <fmt/format.h>

#include <mutex>

#include "daemon/trace/trace_reader.h"
#include "rpc/status.h"

namespace ptrace_prof {
namespace {

constexpr size_t kReadAtOnce = 1 << 20;

// Whether there is room for the message, which then has it until the call is done.
grpc::Status Hold(const HeldAnswer& answer, UnsentBytes::Share& share) {
  const size_t size = answer.message.ByteSizeLong();
  auto taken = answer.unsent.Take(answer.user, size);
  if (!taken.has_value()) {
    answer.message.Clear();
    return ToStatus(NoRoomForAnswer(size));
  }
  share = std::move(*taken);
  return grpc::Status::OK;
}

class AnsweredCall : public grpc::ServerUnaryReactor {
 public:
  AnsweredCall(const HeldAnswer& answer, const Result<void>& outcome) {
    Finish(outcome.has_error() ? ToStatus(outcome.error()) : Hold(answer, share_));
  }

 private:
  void OnDone() override { delete this; }

  UnsentBytes::Share share_;
};

class AnswerCall : public grpc::ServerUnaryReactor {
 public:
  AnswerCall(std::shared_ptr<CaptureSession> session, HeldAnswer answer,
             std::function<grpc::Status(const CaptureSession&)> fill)
      : session_(std::move(session)), answer_(answer), fill_(std::move(fill)) {}

  void Begin() {
    listener_ = session_->Subscribe([this] { FinishIfEnded(); });
    FinishIfEnded();
  }

 private:
  void FinishIfEnded() {
    const std::lock_guard lock(mutex_);
    if (!is_finished_ && HasEnded(session_->Snapshot().state)) {
      is_finished_ = true;
      const grpc::Status filled = fill_(*session_);
      Finish(filled.ok() ? Hold(answer_, share_) : filled);
    }
  }
  // Its end is the registry's to wait for, not this call's, which its connection waits for.
  void OnCancel() override {
    session_->Cancel();
    const std::lock_guard lock(mutex_);
    if (!is_finished_) {
      is_finished_ = true;
      Finish(grpc::Status::CANCELLED);
    }
  }
  void OnDone() override {
    session_->Unsubscribe(listener_);
    delete this;
  }

  const std::shared_ptr<CaptureSession> session_;
  const HeldAnswer answer_;
  const std::function<grpc::Status(const CaptureSession&)> fill_;
  UnsentBytes::Share share_;
  std::mutex mutex_;
  bool is_finished_ = false;
  CaptureSession::ListenerId listener_ = 0;
};

}  // namespace

grpc::ServerUnaryReactor* AnswerAtEnd(std::shared_ptr<CaptureSession> session, HeldAnswer answer,
                                      std::function<grpc::Status(const CaptureSession&)> fill) {
  auto* call = new AnswerCall(std::move(session), answer, std::move(fill));
  call->Begin();
  return call;
}

grpc::ServerUnaryReactor* AnswerNow(HeldAnswer answer, const Result<void>& outcome) {
  return new AnsweredCall(answer, outcome);
}

Error NoRoomForAnswer(size_t bytes) {
  return Because(
      Reason::kQuota,
      fmt::format("an answer of {} bytes finds no room: too much is kept that clients have not read yet", bytes),
      "read what was asked for, or try again in a moment");
}

Result<void> ReadWholeTrace(const CaptureSession& session, TraceVisitor& visitor) {
  TraceReader reader(visitor);
  const TraceSpool& spool = session.spool();
  for (uint64_t offset = 0; offset < spool.size();) {
    PP_ASSIGN_OR_RETURN(const std::string bytes, spool.ReadPackets(offset, kReadAtOnce));
    PP_RETURN_IF_ERROR(reader.Feed(std::as_bytes(std::span(bytes))));
    offset += bytes.size();
  }
  const auto error = session.Snapshot().error;
  return error.has_value() ? Result<void>(*error) : Result<void>();
}

}  // namespace ptrace_prof
