#include "daemon/service/answer_at_end.h"

#include <mutex>

#include "daemon/trace/trace_reader.h"

namespace ptrace_prof {
namespace {

constexpr size_t kReadAtOnce = 1 << 20;

class AnswerCall : public grpc::ServerUnaryReactor {
 public:
  AnswerCall(std::shared_ptr<CaptureSession> session, std::function<grpc::Status(const CaptureSession&)> answer)
      : session_(std::move(session)), answer_(std::move(answer)) {}

  void Begin() {
    listener_ = session_->Subscribe([this] { FinishIfEnded(); });
    FinishIfEnded();
  }

 private:
  void FinishIfEnded() {
    const std::lock_guard lock(mutex_);
    if (!is_finished_ && HasEnded(session_->Snapshot().state)) {
      is_finished_ = true;
      Finish(answer_(*session_));
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
  const std::function<grpc::Status(const CaptureSession&)> answer_;
  std::mutex mutex_;
  bool is_finished_ = false;
  CaptureSession::ListenerId listener_ = 0;
};

}  // namespace

grpc::ServerUnaryReactor* AnswerAtEnd(std::shared_ptr<CaptureSession> session,
                                      std::function<grpc::Status(const CaptureSession&)> answer) {
  auto* call = new AnswerCall(std::move(session), std::move(answer));
  call->Begin();
  return call;
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
