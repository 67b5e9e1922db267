#include "daemon/server/service/answer_at_end.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>

#include "daemon/trace/read/trace_reader.h"
#include "rpc/connection/status.h"

namespace ptrace_prof {
namespace {

// Reserves memory for the message until the call is done; fails if there is no room.
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

enum class AnswerWhen : uint8_t { kAtStart, kAtEnd };

//   kStarting ──► kStarted ──► kFilling ──► kFinished
//       └─cancelled──┴──► kFinished: at once if the start had not begun; otherwise when the running step ends
class AnswerCall : public grpc::ServerUnaryReactor {
 public:
  AnswerCall(StartOfCapture start, HeldAnswer answer, FillAnswer fill, AnswerWhen when)
      : start_(std::move(start)), answer_(answer), fill_(std::move(fill)), when_(when) {}

  void Begin() {
    const auto queued = answer_.pool.Add(
        answer_.user, [this] { Start(); }, ticket_);
    if (queued.has_error()) {
      const std::lock_guard lock(mutex_);
      FinishLocked(ToStatus(queued.error()));
    }
  }

 private:
  enum class State : uint8_t { kStarting, kStarted, kFilling, kFinished };

  // Runs on a thread of the pool, which leaves this object before OnDone gets the mutex.
  void Start() {
    auto started = start_();
    if (started.has_error()) {
      const std::lock_guard lock(mutex_);
      FinishLocked(ToStatus(started.error()));
      return;
    }
    session_ = std::move(started).value();
    if (when_ == AnswerWhen::kAtEnd) {
      listener_ = session_->Subscribe([this] { FinishIfEnded(); });
    }
    std::unique_lock lock(mutex_);
    state_ = State::kStarted;
    FinishIfEndedLocked(lock);
  }
  void FinishIfEnded() {
    std::unique_lock lock(mutex_);
    FinishIfEndedLocked(lock);
  }
  void FinishIfEndedLocked(std::unique_lock<std::mutex>& lock) {
    const bool is_time = when_ == AnswerWhen::kAtStart || HasEnded(session_->Snapshot().state);
    if (state_ != State::kStarted || (!is_time && !is_cancelled_)) {
      return;
    }
    if (is_cancelled_) {
      CancelLocked();
      return;
    }
    state_ = State::kFilling;
    lock.unlock();  // `fill_` may ask the launcher, and a cancel must not wait for that
    const grpc::Status filled = fill_(*session_);
    lock.lock();
    FinishLocked(is_cancelled_ ? grpc::Status::CANCELLED : filled.ok() ? Hold(answer_, share_) : filled);
  }
  // The registry waits for the capture's end, not this call, for which its connection would have to wait.
  void CancelLocked() {
    if (when_ == AnswerWhen::kAtEnd && session_ != nullptr) {
      session_->Cancel();
    }
    FinishLocked(grpc::Status::CANCELLED);
  }
  void FinishLocked(const grpc::Status& status) {
    state_ = State::kFinished;
    Finish(status);
  }
  void OnCancel() override {
    const bool never_begins = answer_.pool.Withdraw(answer_.user, ticket_);
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    if (never_begins || state_ == State::kStarted) {
      CancelLocked();
    }
  }
  void OnDone() override {
    { const std::lock_guard left(mutex_); }
    if (session_ != nullptr && when_ == AnswerWhen::kAtEnd) {
      session_->Unsubscribe(listener_);
    }
    delete this;
  }

  const StartOfCapture start_;
  const HeldAnswer answer_;
  const FillAnswer fill_;
  const AnswerWhen when_;
  std::atomic<StartPool::Ticket> ticket_ = 0;
  UnsentBytes::Share share_;
  std::shared_ptr<CaptureSession> session_;
  std::mutex mutex_;
  State state_ = State::kStarting;
  bool is_cancelled_ = false;
  CaptureSession::ListenerId listener_ = 0;
};

grpc::ServerUnaryReactor* Answer(StartOfCapture start, const HeldAnswer& answer, FillAnswer fill, AnswerWhen when) {
  auto* call = new AnswerCall(std::move(start), answer, std::move(fill), when);
  call->Begin();
  return call;
}

}  // namespace

grpc::ServerUnaryReactor* AnswerAtEnd(StartOfCapture start, HeldAnswer answer, FillAnswer fill) {
  return Answer(std::move(start), answer, std::move(fill), AnswerWhen::kAtEnd);
}

grpc::ServerUnaryReactor* AnswerAtStart(StartOfCapture start, HeldAnswer answer, FillAnswer fill) {
  return Answer(std::move(start), answer, std::move(fill), AnswerWhen::kAtStart);
}

grpc::ServerUnaryReactor* AnswerNow(HeldAnswer answer, const Result<void>& outcome) {
  return new AnsweredCall(answer, outcome);
}

Error NoRoomForAnswer(size_t bytes) {
  return Because(
      Reason::kQuota,
      fmt::format("there is no room for an answer of {} bytes: clients have not yet read earlier answers", bytes),
      "read the earlier answers, or try again in a moment");
}

Result<void> ReadWholeTrace(const CaptureSession& session, TraceVisitor& visitor) {
  TraceReader reader(visitor);
  const TraceSpool& spool = session.spool();
  for (uint64_t offset = 0; offset < spool.size();) {
    PP_ASSIGN_OR_RETURN(const std::string bytes, spool.ReadPackets(offset, TraceSpool::kReadAtOnce));
    PP_RETURN_IF_ERROR(reader.Feed(std::as_bytes(std::span(bytes))));
    offset += bytes.size();
  }
  const auto error = session.Snapshot().error;
  return error.has_value() ? Result<void>(*error) : Result<void>();
}

}  // namespace ptrace_prof
