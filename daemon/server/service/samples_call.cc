#include "daemon/server/service/samples_call.h"

#include <google/protobuf/util/time_util.h>

#include <map>

#include "attach/base/wall_clock.h"
#include "daemon/server/service/batch_parts.h"
#include "daemon/server/service/capture_message.h"
#include "daemon/server/service/session_call.h"
#include "daemon/trace/read/sample_batcher.h"
#include "rpc/connection/status.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

constexpr Nanos kDefaultInterval = Nanos::FromSeconds(1);
constexpr Nanos kShortestInterval = Nanos::FromMillis(50);
constexpr Nanos kLongestInterval = Nanos::FromSeconds(3600);
constexpr int kReadsAtOnce = 16;  // then other calls get their turn
constexpr uint64_t kForgetEvery = 4 << 20;

// Converts a time of CLOCK_MONOTONIC to calendar time.
google::protobuf::Timestamp Calendar(Nanos when) {
  return google::protobuf::util::TimeUtil::NanosecondsToTimestamp(RealtimeNow().value - MonotonicNow().value +
                                                                  when.value);
}

void FillCounters(const SampleBatch::Counters& counters, v1::SampleCounters* out) {
  out->set_samples(counters.samples);
  out->set_truncated(counters.Of(SampleQuality::kTruncated));
  out->set_too_deep(counters.Of(SampleQuality::kTooDeep));
  out->set_torn(counters.Of(SampleQuality::kTorn));
  out->set_stale_names(counters.Of(SampleQuality::kStaleNames));
  out->set_lost(counters.lost);
  out->set_missed_rounds(counters.missed);
  *out->mutable_collector_cpu_time() =
      google::protobuf::util::TimeUtil::NanosecondsToDuration(counters.collector_cpu.value);
  out->set_actual_rate_hz(counters.actual_rate_hz);
}

class SamplesCall : public SessionCall<v1::SampleBatch> {
 public:
  SamplesCall(Nanos interval, const Reader& reader) : SessionCall(reader.unsent, reader.user), interval_(interval) {}

 private:
  void Adopt() override { next_ = MonotonicNow() + interval_; }
  bool Next(v1::SampleBatch* message, std::optional<grpc::Status>* end) override {
    if (parts_.has_value()) {
      Meanwhile();
      FillPart(message);
      return true;
    }
    const CaptureSnapshot now = session().Snapshot();
    if (said_last_) {
      *end = now.error.has_value() ? ToStatus(*now.error) : grpc::Status::OK;
      return false;
    }
    if (auto fed = trouble_.has_error() ? std::move(trouble_) : FeedNew(); fed.has_error()) {
      *end = ToStatus(fed.error());
      return false;
    }
    said_last_ = HasEnded(now.state) && offset_ == session().spool().size();
    const bool is_first = !said_first_ && batcher_.any_process();  // sent at once, to show that the target was opened
    if (!said_last_ && !is_first && MonotonicNow() < next_) {
      return false;
    }
    said_first_ = true;
    next_ = MonotonicNow() + interval_;
    parts_.emplace(batcher_.Take(MonotonicNow()), process_names_);
    FillPart(message);
    return true;
  }

  void Meanwhile() override {
    if (!trouble_.has_error()) {
      trouble_ = FeedNew();
    }
  }

  Result<void> FeedNew() {
    for (int i = 0; i < kReadsAtOnce; ++i) {
      PP_ASSIGN_OR_RETURN(const std::string bytes, session().spool().ReadPackets(offset_, TraceSpool::kReadAtOnce));
      if (bytes.empty()) {
        break;
      }
      PP_RETURN_IF_ERROR(batcher_.Feed(std::as_bytes(std::span(bytes))));
      offset_ += bytes.size();
    }
    if (offset_ - forgotten_ > kForgetEvery) {
      session().ForgetTraceBefore(offset_);
      forgotten_ = offset_;
    }
    return {};
  }

  void FillPart(v1::SampleBatch* message) {
    const bool more = parts_->Fill(message);
    const SampleBatch& batch = parts_->batch();
    *message->mutable_begin() = Calendar(batch.begin);
    *message->mutable_end() = Calendar(batch.end);
    message->set_more(more);
    if (more) {
      return;
    }
    FillCounters(batch.counters, message->mutable_counters());
    FillTotals(session().Snapshot().totals, message->mutable_totals());
    message->set_thinned(batch.counters.thinned + parts_->left_out());
    parts_.reset();
    if (const auto& ended = batcher_.end(); said_last_ && ended.has_value()) {
      FillStatus(ErrorOf(*ended), message->mutable_ended());
    }
  }

  void Cancelled() override { session().Cancel(); }
  void Detach() override {
    SessionCall::Detach();
    if (has_session()) {
      session().Cancel();
    }
  }

  const Nanos interval_;
  Nanos next_;
  SampleBatcher batcher_;
  std::map<Pid, std::string> process_names_;
  std::optional<BatchParts> parts_;  // of the batch that is being sent
  uint64_t offset_ = 0;
  uint64_t forgotten_ = 0;
  Result<void> trouble_;  // reading the trace, while the client was slow
  bool said_first_ = false;
  bool said_last_ = false;
};

}  // namespace

Result<Nanos> IntervalFrom(const v1::StreamSamplesRequest& request) {
  if (!request.has_interval()) {
    return kDefaultInterval;
  }
  const auto& asked = request.interval();
  const bool is_sane =
      asked.seconds() >= 0 && asked.seconds() <= 3600 && asked.nanos() >= 0 && asked.nanos() < 1'000'000'000;
  const Nanos interval(is_sane ? google::protobuf::util::TimeUtil::DurationToNanoseconds(asked) : 0);
  if (interval < kShortestInterval || interval > kLongestInterval) {
    return Error{Code::kInvalidArgument, "interval must be 50 ms to 1 h", "leave it out for 1 s"};
  }
  return interval;
}

SamplesWriter* StartSamples(std::function<Result<std::shared_ptr<CaptureSession>>()> start, Nanos interval,
                            const Reader& reader) {
  auto* call = new SamplesCall(interval, reader);  // deletes itself
  call->Begin(reader.pool, std::move(start));
  return call;
}

}  // namespace ptrace_prof
