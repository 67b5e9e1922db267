#include "daemon/service/capture_calls.h"

#include <mutex>

#include "daemon/service/capture_message.h"
#include "daemon/service/session_call.h"
#include "daemon/service/trace_cursor.h"
#include "rpc/status.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

constexpr Nanos kSignOfLife = Nanos::FromMillis(900);  // sessions speak up once a second

// Is it time to show the capture again: another state, or a second since the last time?
class ShowAgain {
 public:
  bool IsDue(CaptureState state) {
    const Nanos now = MonotonicNow();
    if (shown_once_ && state == state_ && now - shown_ < kSignOfLife) {
      return false;
    }
    shown_once_ = true;
    state_ = state;
    shown_ = now;
    return true;
  }

 private:
  bool shown_once_ = false;
  CaptureState state_ = CaptureState::kPending;
  Nanos shown_;
};

class ReadTraceCall : public SessionCall<v1::TraceChunk> {
 public:
  ReadTraceCall(std::shared_ptr<CaptureSession> session, const v1::ReadTraceRequest& request, Reader reader)
      : SessionCall(std::move(session), reader.unsent, reader.user),
        cursor_(this->session().spool(), request.offset(), reader.chunk_size),
        follow_(request.follow()) {}

 private:
  bool Next(v1::TraceChunk* chunk, std::optional<grpc::Status>* end) override {
    if (said_last_) {
      *end = grpc::Status::OK;
      return false;
    }
    const bool ended = HasEnded(session().Snapshot().state);  // before the look at the bytes: then there are no more
    const auto filled = cursor_.Fill(chunk);
    if (filled.has_error()) {
      *end = ToStatus(filled.error());
      return false;
    }
    if (filled.value()) {
      said_last_ = ended && !cursor_.has_more();
      chunk->set_last(said_last_);
      return true;
    }
    if (ended) {
      said_last_ = true;
      cursor_.FillLast(chunk);
      return true;
    }
    if (!follow_) {
      *end = grpc::Status::OK;
    }
    return false;
  }

  TraceCursor cursor_;
  const bool follow_;
  bool said_last_ = false;
};

class WatchCall : public SessionCall<v1::CaptureEvent> {
 public:
  WatchCall(std::shared_ptr<CaptureSession> session, Reader reader)
      : SessionCall(std::move(session), reader.unsent, reader.user) {}

 private:
  bool Next(v1::CaptureEvent* event, std::optional<grpc::Status>* end) override {
    if (said_last_) {
      *end = grpc::Status::OK;
      return false;
    }
    const CaptureState state = session().Snapshot().state;
    if (!again_.IsDue(state)) {
      return false;
    }
    said_last_ = HasEnded(state);
    FillCapture(session(), event->mutable_capture());
    return true;
  }

  ShowAgain again_;
  bool said_last_ = false;
};

class RecordCall : public SessionCall<v1::RecordEvent> {
 public:
  RecordCall(std::shared_ptr<CaptureSession> session, CaptureRegistry& captures, Reader reader)
      : SessionCall(std::move(session), reader.unsent, reader.user),
        captures_(captures),
        cursor_(this->session().spool(), 0, reader.chunk_size) {
    this->session().Hold();
  }

 private:
  bool Next(v1::RecordEvent* event, std::optional<grpc::Status>* end) override {
    const CaptureSnapshot now = session().Snapshot();
    if (said_last_) {
      *end = now.error.has_value() ? ToStatus(*now.error) : grpc::Status::OK;
      return false;
    }
    const bool ended = HasEnded(now.state);
    if (!said_first_ || (!ended && again_.IsDue(now.state))) {
      said_first_ = true;  // even if it has ended by now: the client waits for its name
      FillCapture(session(), event->mutable_capture());
      return true;
    }
    const auto filled = cursor_.Fill(event->mutable_chunk());
    if (filled.has_error()) {
      *end = ToStatus(filled.error());
      return false;
    }
    if (!filled.value() && ended) {
      said_last_ = true;
      FillCapture(session(), event->mutable_capture());
    }
    return filled.value() || ended;
  }
  void Cancelled() override {
    if (WasLast() && !session().parameters().keep) {
      session().Cancel();
    }
  }
  void Detach() override {
    SessionCall::Detach();
    if (WasLast() && !session().parameters().keep) {
      captures_.Discard(session().parameters().id);
    }
  }
  bool WasLast() {
    std::call_once(let_go_, [this] { was_last_ = session().LetGo(); });
    return was_last_;
  }

  CaptureRegistry& captures_;
  TraceCursor cursor_;
  ShowAgain again_;
  std::once_flag let_go_;
  bool was_last_ = false;
  bool said_first_ = false;
  bool said_last_ = false;
};

}  // namespace

TraceChunkWriter* StartReadTrace(std::shared_ptr<CaptureSession> session, const v1::ReadTraceRequest& request,
                                 Reader reader) {
  auto* call = new ReadTraceCall(std::move(session), request, reader);  // deletes itself
  call->Begin();
  return call;
}

WatchWriter* StartWatch(std::shared_ptr<CaptureSession> session, Reader reader) {
  auto* call = new WatchCall(std::move(session), reader);
  call->Begin();
  return call;
}

RecordWriter* StartRecord(std::shared_ptr<CaptureSession> session, CaptureRegistry& captures, Reader reader) {
  auto* call = new RecordCall(std::move(session), captures, reader);
  call->Begin();
  return call;
}

}  // namespace ptrace_prof
