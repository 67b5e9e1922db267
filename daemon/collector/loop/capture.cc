#include "daemon/collector/loop/capture.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>

#include "attach/base/real_time.h"
#include "attach/proc/access_diagnosis.h"
#include "attach/proc/check_threads.h"
#include "attach/proc/memory_grants.h"
#include "attach/ptrace/stopped_threads.h"
#include "attach/ptrace/traced_threads.h"
#include "daemon/collector/calls/sampled_instead.h"
#include "daemon/collector/gpu/gpu_capture.h"
#include "daemon/collector/loop/call_capture.h"
#include "daemon/collector/nvml/nvml_counters.h"
#include "daemon/collector/sample/locals_reader.h"
#include "daemon/collector/sample/pacer.h"
#include "daemon/collector/sample/process_tree.h"
#include "daemon/collector/target/patient_open.h"
#include "daemon/collector/target/stack_history.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kFlushEvery = Nanos::FromMillis(100);
constexpr Nanos kFirstFlush = Nanos::FromMillis(10);  // somebody may be waiting to see the first sample
constexpr Nanos kLookEvery = Nanos::FromMillis(100);
constexpr Nanos kLookForChildren = Nanos::FromMillis(8);
constexpr Nanos kLookWhileEmpty = Nanos::FromMillis(20);
constexpr int kIdleMillis = 5;
constexpr Nanos kAccountEvery = Nanos::FromMillis(500);
constexpr size_t kMaxNodes = 100'000;  // then the stack tables start anew: memory stays bounded in a run of any length
constexpr Nanos kRefusalPatience = Nanos::FromMillis(500);
constexpr int kPatientTries = 5;
constexpr Nanos kSamplesKnown = Nanos::FromMillis(150);
constexpr Nanos kLeaveGpuPatience = Nanos::FromSeconds(5);
constexpr Nanos kAMoment(50'000);
constexpr int kLooksForLate = 2000;  // of a dump
constexpr Nanos kForever = Nanos(INT64_MAX);

class Capture {
 public:
  Capture(const CaptureTask& request, ByteSink& sink, const std::atomic<bool>& stop, const CaptureAids& aids)
      : request_(request),
        stop_(stop),
        aids_(aids),
        writer_(sink, stacks_, request),
        tree_(Context(), [this](ProcessSampler& sampler) { EndGpu(sampler); }),
        pacer_(request.verb() == CaptureTask::DUMP ? 0 : RateOf(request.spec().sample()),
               {OverheadLimitOf(request.spec().sample()), StoppedLimitOf(request.spec().sample()), aids.stop_sharers}) {
  }

  Result<void> Run() {
    PP_RETURN_IF_ERROR(tree_.OpenRoot());
    begin_ = MonotonicNow();
    starting_cpu_ = OwnCpuTime();
    if (request_.verb() == CaptureTask::DUMP) {
      return Dump();
    }
    return Record();
  }

 private:
  Result<void> Dump() {
    tree_.Look(begin_);
    tree_.Sample(pacer_);
    while ((tree_.stop_refusal() != nullptr || tree_.is_waiting_for_stop()) && ::poll(nullptr, 0, kIdleMillis) == 0) {
      if (const auto refused = LastingRefusal(); refused.has_value()) {
        return Finish(EndOf(*refused));
      }
      if (tree_.is_waiting_for_stop()) {
        tree_.PollLate();
      } else {
        tree_.Sample(pacer_);
      }
    }
    for (int look = 0; look < kLooksForLate && StoppedThreads::ReleaseLate() > 0; ++look) {
      const timespec nap{0, kAMoment.value};
      ::nanosleep(&nap, nullptr);
    }
    tree_.Flush();
    if (request_.locals()) {  // they belong to the sample written last
      for (const auto& sampler : tree_.samplers()) {
        WriteLocals(*sampler, writer_);
      }
    }
    return Finish({});
  }

  CaptureContext Context() {
    const bool has_gpu = HasGpu(request_.spec());
    return {request_,       stacks_,     writer_, accounting_, aids_.scripts, has_gpu ? &history_ : nullptr,
            aids_.counters, &aids_.judge};
  }

  // Once the target is a Python process: of its children's GPUs nothing is recorded. True: it was now, and took a
  // while.
  bool BeginGpu() {
    if (!HasGpu(request_.spec()) || gpu_.has_value() || has_gpu_ended_) {
      return false;
    }
    for (const auto& sampler : tree_.samplers()) {
      if (sampler->pid() == TargetOf(request_)) {
        const LettingGo letting_go(LetGoOf::kAll);
        gpu_.emplace(GpuTarget{.pid = TargetOf(request_),
                               .memory = sampler->memory(),
                               .process = sampler->process(),
                               .roster = sampler->roster(),
                               .stacks = GpuStackKind::kSampled},
                     Context());
        gpu_->BringIn([this] { return !stop_.load(std::memory_order_relaxed); });
        gpu_->Begin();
        return true;
      }
    }
    return false;
  }

  // Samples are taken until then, and none later than a flush ago is known.
  void DrainGpu(Nanos now) {
    if (gpu_.has_value()) {
      gpu_->Drain(now, now - kSamplesKnown);
    }
  }

  void LeaveGpu(Nanos patience) {
    if (gpu_.has_value()) {
      gpu_->Leave(patience, [] {});
      gpu_->Finish(MonotonicNow());
      gpu_.reset();
      has_gpu_ended_ = true;
    }
  }

  void EndGpu(ProcessSampler& sampler) {
    if (gpu_.has_value() && sampler.pid() == TargetOf(request_)) {
      sampler.Flush();  // the last of its stacks are asked for
      LeaveGpu(Nanos());
    }
  }

  Result<void> Record() {
    Nanos end = EndFrom(begin_);
    Nanos next_flush = begin_ + kFirstFlush;
    Nanos next_look = begin_;
    Nanos now = begin_;
    if (RateOf(request_.spec().sample()) > 0) {
      TakeRealTime();
    } else {
      LeaveRealTime();  // it would take a whole CPU from everybody else
    }
    while (now < end && !stop_.load(std::memory_order_relaxed)) {
      if (now >= next_look) {
        Look(now);
        next_look = now + UntilNextLook(MonotonicNow() - now);
        if (request_.spec().sample().wait_for_python() && !tree_.has_opened()) {
          begin_ = now;
          end = EndFrom(begin_);
        }
        if (tree_.empty() && !tree_.is_waiting()) {
          break;
        }
      }
      if (BeginGpu()) {
        const Nanos begun = MonotonicNow();
        end = end == kForever ? end : end + (begun - now);
        now = begun;
      }
      if (tree_.is_waiting_for_stop()) {
        tree_.PollLate();
      }
      tree_.Sample(pacer_);
      const bool has_late = StoppedThreads::ReleaseLate() > 0;
      if (const auto refused = LastingRefusal(); refused.has_value() && !HasStopped()) {
        return Finish(EndOf(*refused));  // it would go on like that; a tracer that comes later costs samples
      }
      if (now >= next_flush) {
        const LettingGo letting_go(LetGoOf::kAll);
        DrainGpu(now);
        if (auto flushed = Flush(now); flushed.has_error()) {
          return flushed;  // nobody reads any more: there is no one to tell
        }
        next_flush = now + kFlushEvery;
      }
      if (tree_.empty()) {
        ::poll(nullptr, 0, kIdleMillis);  // at the rate "max" the pacer does not wait
      }
      pacer_.Govern(MonotonicNow(), tree_.stopped_most());
      const Nanos due = std::min({tree_.NextInstant(), next_look, next_flush, end});
      now = pacer_.Wait(due, stop_, has_late || tree_.is_waiting_for_stop());
    }
    const bool ended = tree_.empty() && !tree_.IsStartingAgain();
    const LettingGo letting_go(LetGoOf::kAll);  // nobody else lets go who stops late
    tree_.Flush();
    tree_.TellAtEnd(MonotonicNow());
    LeaveGpu(kLeaveGpuPatience);
    return Finish(ended ? EndOf(TargetEnded()) : EndInfo{});
  }

  // Another collector that holds the target for a sample is soon gone; a debugger is not.
  std::optional<Error> LastingRefusal() const {
    const StopRefusal* refusal = tree_.stop_refusal();
    const bool lasts =
        refusal != nullptr && refusal->times >= kPatientTries && MonotonicNow() - refusal->since > kRefusalPatience;
    return lasts ? std::optional(refusal->error) : std::nullopt;
  }

  // Was there a time when the kernel let us?
  bool HasStopped() {
    tree_.CountInto(accounting_);
    return accounting_.stops > 0;
  }

  void Look(Nanos now) {
    const LettingGo letting_go(LetGoOf::kAll);
    tree_.Look(now);
  }

  Error TargetEnded() const {
    const std::string target = ThingOf(TargetOf(request_));
    if (tree_.has_execed() && CheckTarget(TargetOf(request_)).has_value()) {
      return Because(Reason::kTargetExeced, target + " has become another program (exec), in which no Python runs", "",
                     target);
    }
    return Because(Reason::kTargetExited, target + " ended", "", target);
  }

  // The tree takes care of what a look costs. While nothing is recorded, the next interpreter shall not be missed for
  // long.
  Nanos UntilNextLook(Nanos took) const {
    if (tree_.empty()) {
      return std::max(kLookWhileEmpty, Nanos(took.value * 10));
    }
    return request_.spec().sample().no_subprocesses() ? kLookEvery : kLookForChildren;
  }

  Nanos EndFrom(Nanos begin) const { return DurationOf(request_).value > 0 ? begin + DurationOf(request_) : kForever; }

  Result<void> Flush(Nanos now) {
    tree_.Flush();
    if (aids_.counters != nullptr) {
      aids_.counters->Read(writer_);
    }
    if (now >= next_account_) {
      Account(now);
      writer_.SetAccounting(accounting_);
      next_account_ = now + kAccountEvery;
    }
    PP_RETURN_IF_ERROR(writer_.Flush());
    if (tree_.node_count() > kMaxNodes || stacks_.stack_count() > kMaxNodes) {
      tree_.ForgetStacks();
      stacks_.Clear();
    }
    return {};
  }

  void Account(Nanos now) {
    tree_.CountInto(accounting_);
    accounting_.late = pacer_.late();
    accounting_.missed = pacer_.missed() + accounting_.missed_instants;
    accounting_.rounds = pacer_.instants();
    accounting_.limit = pacer_.limit();
    accounting_.starting_cpu = starting_cpu_;
    accounting_.collector_cpu = OwnCpuTime();
    accounting_.wall = now - begin_;
    accounting_.asked_rate_hz = RateOf(request_.spec().sample());
    accounting_.actual_rate_hz = pacer_.rate_hz(now);
  }

  Result<void> Finish(const EndInfo& end) {
    const Nanos now = MonotonicNow();
    Account(now);
    if (aids_.counters != nullptr) {
      aids_.counters->Read(writer_);
    }
    return writer_.End(now, accounting_, end);
  }

  const CaptureTask& request_;
  const std::atomic<bool>& stop_;
  const CaptureAids aids_;
  StackTable stacks_;
  Accounting accounting_;
  StackHistory history_{stacks_};
  TraceWriter writer_;
  ProcessTree tree_;
  std::optional<GpuCapture> gpu_;  // after what it refers to
  bool has_gpu_ended_ = false;
  Pacer pacer_;
  Nanos begin_;
  Nanos starting_cpu_;  // until then
  Nanos next_account_;
};

// A thread that stops late says so by this signal, which Pacer waits for.
void BlockChildSignals() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &child, nullptr);
}

}  // namespace

Result<void> RunCapture(const CaptureTask& request, ByteSink& sink, const std::atomic<bool>& stop,
                        const CaptureAids& aids) {
  PP_RETURN_IF_ERROR(OpenPatiently(TargetOf(request), [&] { return CheckTarget(TargetOf(request)); }));
  PP_RETURN_IF_ERROR(
      CheckThreads(TargetOf(request), ThreadsOf(request),
                   request.spec().sample().no_subprocesses() ? Descendants::kLeftOut : Descendants::kToo));
  CaptureTask chosen = request;
  if (MayTrace(request.spec().mode())) {
    chosen.mutable_spec()->set_mode(v1::MODE_TRACE);
    std::optional<Error> refusal;
    const bool or_else = request.spec().mode() == v1::MODE_AUTO;
    Result<void> ran = RunCallCapture(chosen, sink, stop, {aids, or_else ? &refusal : nullptr});
    if (!refusal) {
      return ran;
    }
    chosen = AsSamples(request, *refusal);
  }
  if (IsReadByGrant(TargetOf(chosen))) {
    if (StopsOf(chosen.spec().sample()) == StopPolicy::kAll) {
      return OnlyGrantedToRead(TargetOf(chosen));
    }
  }
  BlockChildSignals();
  Capture capture(chosen, sink, stop, aids);
  return capture.Run();
}

}  // namespace ptrace_prof
