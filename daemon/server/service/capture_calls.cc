#include "daemon/server/service/capture_calls.h"

#include <mutex>

#include "daemon/server/service/capture_message.h"
#include "daemon/server/service/failed_call.h"
#include "daemon/server/service/session_call.h"
#include "daemon/server/service/trace_cursor.h"
#include "rpc/connection/status.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

constexpr Nanos kSignOfLife = Nanos::FromMillis(900);  // sessions report about once a second

// Decides when to send the capture again: on a new state, or a second after the last time.
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
  ReadTraceCall(const v1::ReadTraceRequest& request, const Reader& reader)
      : SessionCall(reader.unsent, reader.user),
        offset_(request.offset()),
        chunk_size_(reader.chunk_size),
        follow_(request.follow()) {}

 private:
  void Adopt() override { cursor_.emplace(session().spool(), offset_, chunk_size_); }
  bool Next(v1::TraceChunk* chunk, std::optional<grpc::Status>* end) override {
    if (said_last_) {
      *end = grpc::Status::OK;
      return false;
    }
    const bool ended = HasEnded(session().Snapshot().state);  // read before the bytes: then no more follow
    const auto filled = cursor_->Fill(chunk);
    if (filled.has_error()) {
      *end = ToStatus(filled.error());
      return false;
    }
    if (filled.value()) {
      said_last_ = ended && !cursor_->has_more();
      chunk->set_last(said_last_);
      return true;
    }
    if (ended) {
      said_last_ = true;
      cursor_->FillLast(chunk);
      return true;
    }
    if (!follow_) {
      *end = grpc::Status::OK;
    }
    return false;
  }

  const uint64_t offset_;
  const uint32_t chunk_size_;
  const bool follow_;
  std::optional<TraceCursor> cursor_;
  bool said_last_ = false;
};

class WatchCall : public SessionCall<v1::CaptureEvent> {
 public:
  explicit WatchCall(const Reader& reader) : SessionCall(reader.unsent, reader.user) {}

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
  RecordCall(CaptureRegistry& captures, const Reader& reader)
      : SessionCall(reader.unsent, reader.user), captures_(captures), chunk_size_(reader.chunk_size) {}

 private:
  void Adopt() override {
    cursor_.emplace(session().spool(), 0, chunk_size_);
    session().Hold();
  }
  bool Next(v1::RecordEvent* event, std::optional<grpc::Status>* end) override {
    const CaptureSnapshot now = session().Snapshot();
    if (said_last_) {
      *end = now.error.has_value() ? ToStatus(*now.error) : grpc::Status::OK;
      return false;
    }
    const bool ended = HasEnded(now.state);
    if (!said_first_ || (!ended && again_.IsDue(now.state))) {
      said_first_ = true;  // even if it has ended: the client waits for its name
      FillCapture(session(), event->mutable_capture());
      return true;
    }
    const auto filled = cursor_->Fill(event->mutable_chunk());
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
    if (has_session() && WasLast() && !session().parameters().keep) {
      captures_.Discard(session().parameters().id);
    }
  }
  bool WasLast() {
    std::call_once(let_go_, [this] { was_last_ = session().LetGo(); });
    return was_last_;
  }

  CaptureRegistry& captures_;
  const uint32_t chunk_size_;
  std::optional<TraceCursor> cursor_;
  ShowAgain again_;
  std::once_flag let_go_;
  bool was_last_ = false;
  bool said_first_ = false;
  bool said_last_ = false;
};

}  // namespace

TraceChunkWriter* StartReadTrace(GetCapture get, const v1::ReadTraceRequest& request, const Reader& reader) {
  auto got = get();
  if (got.has_error()) {
    return FailedCall<v1::TraceChunk>(ToStatus(got.error()));
  }
  auto* call = new ReadTraceCall(request, reader);  // deletes itself
  got.value() != nullptr ? call->Begin(std::move(got).value()) : call->Begin(reader.pool, std::move(get));
  return call;
}

WatchWriter* StartWatch(std::shared_ptr<CaptureSession> session, const Reader& reader) {
  auto* call = new WatchCall(reader);
  call->Begin(std::move(session));
  return call;
}

RecordWriter* StartRecord(GetCapture start, CaptureRegistry& captures, const Reader& reader) {
  auto* call = new RecordCall(captures, reader);
  call->Begin(reader.pool, std::move(start));
  return call;
}

}  // namespace ptrace_prof
