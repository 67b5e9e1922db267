#include "daemon/service/samples_call.h"

#include <google/protobuf/util/time_util.h>

#include <map>

#include "attach/base/wall_clock.h"
#include "daemon/export/clean_text.h"
#include "daemon/service/capture_message.h"
#include "daemon/service/session_call.h"
#include "daemon/trace/sample_batcher.h"
#include "daemon/trace/state_name.h"
#include "rpc/status.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

constexpr Nanos kDefaultInterval = Nanos::FromSeconds(1);
constexpr Nanos kShortestInterval = Nanos::FromMillis(50);
constexpr Nanos kLongestInterval = Nanos::FromSeconds(3600);
constexpr size_t kReadAtOnce = 1 << 20;
constexpr int kReadsAtOnce = 16;  // then others get their turn
constexpr uint64_t kForgetEvery = 4 << 20;

// A time of CLOCK_MONOTONIC as one of the calendar.
google::protobuf::Timestamp Calendar(Nanos when) {
  return google::protobuf::util::TimeUtil::NanosecondsToTimestamp(RealtimeNow().value - MonotonicNow().value +
                                                                  when.value);
}

void FillFrames(const SampleBatch& batch, v1::SampleBatch* out) {
  for (const SampleBatch::Frame& frame : batch.frames) {
    v1::SampledFrame& written = *out->add_frames();
    written.set_function(CleanText(batch.strings[frame.function]));
    written.set_file(CleanText(batch.strings[frame.file]));
    written.set_line(frame.line);
    written.set_first_line(frame.first_line);
    written.set_is_marker(frame.kind == FrameKind::kMarker);
  }
}

void FillProcesses(const SampleBatch& batch, v1::SampleBatch* out) {
  for (const SampleBatch::Process& process : batch.processes) {
    v1::SampledProcess& written = *out->add_processes();
    written.set_pid(process.pid.value);
    written.set_parent_pid(process.parent_pid.value);
    written.set_name(CleanText(process.name));
    written.set_command(CleanText(process.command));
    written.set_python_version(CleanText(process.python));
  }
}

void FillCounters(const SampleBatch::Counters& counters, v1::SampleCounters* out) {
  out->set_samples(counters.samples);
  out->set_verified(counters.Of(SampleQuality::kVerified));
  out->set_stopped(counters.Of(SampleQuality::kStopped));
  out->set_truncated(counters.Of(SampleQuality::kTruncated));
  out->set_too_deep(counters.Of(SampleQuality::kTooDeep));
  out->set_lost(counters.lost);
  out->set_missed_rounds(counters.missed);
  *out->mutable_collector_cpu_time() =
      google::protobuf::util::TimeUtil::NanosecondsToDuration(counters.collector_cpu.value);
  out->set_actual_rate_hz(counters.actual_rate_hz);
}

// Only the stacks that were counted are sent, each once.
class StackTableWriter {
 public:
  StackTableWriter(const SampleBatch& batch, v1::SampleBatch* out) : batch_(batch), out_(out) {}

  uint32_t Number(uint32_t stack) {
    const auto [known, is_new] = numbers_.emplace(stack, static_cast<uint32_t>(out_->stacks_size()));
    if (is_new) {
      v1::SampledStack& written = *out_->add_stacks();
      for (uint32_t at = stack; at != 0; at = batch_.stacks[at - 1].parent) {
        written.add_frames(batch_.stacks[at - 1].frame);
      }
    }
    return known->second;
  }

 private:
  const SampleBatch& batch_;
  v1::SampleBatch* out_;
  std::map<uint32_t, uint32_t> numbers_;
};

void FillThreads(const SampleBatch& batch, std::map<int32_t, std::string>& process_names, v1::SampleBatch* out) {
  for (const SampleBatch::Process& process : batch.processes) {
    process_names[process.pid.value] = CleanText(process.name);
  }
  StackTableWriter stacks(batch, out);
  for (const SampleBatch::Thread& thread : batch.threads) {
    v1::SampledThread& written = *out->add_threads();
    written.set_pid(thread.pid.value);
    written.set_tid(thread.tid.value);
    written.set_name(CleanText(thread.name));
    written.set_process_name(process_names[thread.pid.value]);
    written.set_is_main(thread.is_main);
    written.set_state(std::string(StateName(thread.state)));
    written.set_holds_gil(thread.holds_gil);
    *written.mutable_gil_time() = google::protobuf::util::TimeUtil::NanosecondsToDuration(thread.gil_time.value);
    for (const SampleBatch::StackCount& counted : thread.stacks) {
      written.add_stacks(stacks.Number(counted.stack));
      written.add_counts(counted.count);
    }
  }
}

class SamplesCall : public SessionCall<v1::SampleBatch> {
 public:
  SamplesCall(std::shared_ptr<CaptureSession> session, Nanos interval)
      : SessionCall(std::move(session)), interval_(interval), next_(MonotonicNow() + interval) {}

 private:
  bool Next(v1::SampleBatch* message, std::optional<grpc::Status>* end) override {
    const CaptureSnapshot now = session().Snapshot();
    if (said_last_) {
      *end = now.error.has_value() ? ToStatus(*now.error) : grpc::Status::OK;
      return false;
    }
    if (auto fed = FeedNew(); fed.has_error()) {
      *end = ToStatus(fed.error());
      return false;
    }
    said_last_ = HasEnded(now.state) && offset_ == session().spool().size();
    const bool is_first = !said_first_ && batcher_.any_process();  // at once: the target was opened
    if (!said_last_ && !is_first && MonotonicNow() < next_) {
      return false;
    }
    said_first_ = true;
    next_ = MonotonicNow() + interval_;
    Fill(now, message);
    return true;
  }

  Result<void> FeedNew() {
    for (int i = 0; i < kReadsAtOnce; ++i) {
      PP_ASSIGN_OR_RETURN(const std::string bytes, session().spool().ReadPackets(offset_, kReadAtOnce));
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

  void Fill(const CaptureSnapshot& now, v1::SampleBatch* message) {
    const SampleBatch batch = batcher_.Take(MonotonicNow());
    *message->mutable_begin() = Calendar(batch.begin);
    *message->mutable_end() = Calendar(batch.end);
    FillFrames(batch, message);
    FillProcesses(batch, message);
    FillCounters(batch.counters, message->mutable_counters());
    FillThreads(batch, process_names_, message);
    FillTotals(now.totals, message->mutable_totals());
    message->set_thinned(batch.counters.thinned);
    if (const auto& ended = batcher_.end(); said_last_ && ended.has_value()) {
      FillStatus({ended->code, ended->message, ended->remedy}, {}, message->mutable_ended());
    }
  }

  void Cancelled() override { session().Cancel(); }
  void Detach() override {
    SessionCall::Detach();
    session().Cancel();
  }

  const Nanos interval_;
  Nanos next_;
  SampleBatcher batcher_;
  std::map<int32_t, std::string> process_names_;
  uint64_t offset_ = 0;
  uint64_t forgotten_ = 0;
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

SamplesWriter* StartSamples(std::shared_ptr<CaptureSession> session, Nanos interval) {
  auto* call = new SamplesCall(std::move(session), interval);  // deletes itself
  call->Begin();
  return call;
}

}  // namespace ptrace_prof
