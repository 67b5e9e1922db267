#include "daemon/collector/sample/sampling_source.h"

#include <poll.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <string>

#include "attach/base/real_time.h"
#include "attach/proc/access_diagnosis.h"
#include "attach/proc/memory_grants.h"
#include "attach/ptrace/stopped_threads.h"
#include "attach/ptrace/traced_threads.h"
#include "daemon/collector/sample/locals_reader.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kFlushSamplesEvery = Nanos::FromMillis(100);
constexpr Nanos kFirstFlush = Nanos::FromMillis(10);  // a reader may be waiting for the first sample
constexpr Nanos kLookForProcessesEvery = Nanos::FromMillis(100);
constexpr Nanos kLookForChildren = Nanos::FromMillis(8);
constexpr Nanos kLookWhileEmpty = Nanos::FromMillis(20);
constexpr int kIdleMillis = 5;
constexpr size_t kMaxNodes = 100'000;  // then the stack tables start anew, so memory stays bounded in a long run
constexpr Nanos kRefusalPatience = Nanos::FromMillis(500);
constexpr int kPatientTries = 5;
constexpr Nanos kSamplesKnown = Nanos::FromMillis(150);
constexpr Nanos kAMoment(50'000);
constexpr int kLooksForLate = 2000;  // of a dump
constexpr Nanos kNoEnd = Nanos(INT64_MAX);

// A thread that stops late causes this signal. Pacer waits for it.
void BlockChildSignals() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &child, nullptr);
}

// Another collector that holds the target for a sample is soon gone; a debugger is not.
std::optional<Error> LastingRefusal(const StopRefusal* refusal) {
  const bool lasts =
      refusal != nullptr && refusal->times >= kPatientTries && MonotonicNow() - refusal->since > kRefusalPatience;
  return lasts ? std::optional(refusal->error) : std::nullopt;
}

}  // namespace

SamplingSource::SamplingSource(const CaptureContext& context, const std::atomic<bool>& stop,
                               const std::atomic<uint32_t>* stop_sharers)
    : context_(context),
      stop_(stop),
      tree_(context_, [this](ProcessSampler& sampler) { OnClose(sampler); }),
      pacer_(rate(), {OverheadLimitOf(context.request.spec().sample()), StoppedLimitOf(context.request.spec().sample()),
                      stop_sharers}) {}

double SamplingSource::rate() const { return is_dump() ? 0 : RateOf(context_.request.spec().sample()); }

Result<void> SamplingSource::Open() {
  const Pid target = TargetOf(context_.request);
  if (IsReadByGrant(target) && StopsOf(context_.request.spec().sample()) == StopPolicy::kAll) {
    return OnlyGrantedToRead(target);
  }
  BlockChildSignals();
  return tree_.OpenRoot();
}

Result<Nanos> SamplingSource::Arm(Nanos /*begun*/) {
  const Nanos now = MonotonicNow();
  Begin(now);
  next_look_ = now;
  starting_cpu_ = OwnCpuTime();
  if (is_dump()) {
    return now;
  }
  if (rate() > 0) {
    TakeRealTime();
  } else {
    LeaveRealTime();  // it would take a whole CPU from all other processes
  }
  return now;
}

Nanos SamplingSource::EndFrom(Nanos begin) const {
  const Nanos duration = DurationOf(context_.request);
  return duration.value > 0 ? begin + duration : kNoEnd;
}

void SamplingSource::Begin(Nanos when) {
  begin_ = when;
  end_ = EndFrom(when);
}

StackSource::Pace SamplingSource::pace() const {
  return {.first_flush = kFirstFlush, .flush_every = kFlushSamplesEvery};
}

std::optional<RecordedProcess> SamplingSource::process() {
  const Pid target = TargetOf(context_.request);
  const auto& samplers = tree_.samplers();
  const auto at = std::ranges::find_if(samplers, [&](const auto& one) { return one->pid() == target; });
  if (at == samplers.end()) {
    return std::nullopt;
  }
  return RecordedProcess{target, (*at)->memory(), (*at)->process(), (*at)->roster()};
}

void SamplingSource::OnClose(ProcessSampler& sampler) {
  if (on_gone_ && sampler.pid() == TargetOf(context_.request)) {
    sampler.Flush();  // other sources ask for its last stacks
    on_gone_();
  }
}

bool SamplingSource::Look(Nanos now) {
  if (now < next_look_) {
    return now < end_;
  }
  {
    const LettingGo letting_go(LetGoOf::kAll);
    tree_.Look(now);
  }
  next_look_ = now + UntilNextLook(MonotonicNow() - now);
  if (context_.request.spec().sample().wait_for_python() && !tree_.has_opened()) {
    Begin(now);
  }
  return now < end_ && (is_dump() || !tree_.empty() || tree_.is_waiting());
}

// ProcessTree bounds the cost of a look. While nothing is recorded, the next interpreter must not be missed for long.
Nanos SamplingSource::UntilNextLook(Nanos took) const {
  if (tree_.empty()) {
    return std::max(kLookWhileEmpty, Nanos(took.value * 10));
  }
  return context_.request.spec().sample().no_subprocesses() ? kLookForProcessesEvery : kLookForChildren;
}

void SamplingSource::Delay(Nanos took) { end_ = end_ == kNoEnd ? end_ : end_ + took; }

void SamplingSource::Poll(Nanos /*now*/, Nanos /*known_until*/) {
  if (is_dump()) {
    TakeDump();
    return;
  }
  if (tree_.is_waiting_for_stop()) {
    tree_.PollLate();
  }
  tree_.Sample(pacer_);
  has_late_ = StoppedThreads::ReleaseLate() > 0;
}

void SamplingSource::TakeDump() {
  tree_.Sample(pacer_);
  while ((tree_.stop_refusal() != nullptr || tree_.is_waiting_for_stop()) && ::poll(nullptr, 0, kIdleMillis) == 0) {
    if (LastingRefusal(tree_.stop_refusal()).has_value()) {
      break;
    }
    if (tree_.is_waiting_for_stop()) {
      tree_.PollLate();
    } else {
      tree_.Sample(pacer_);
    }
  }
  is_dumped_ = true;
  for (int look = 0; look < kLooksForLate && StoppedThreads::ReleaseLate() > 0; ++look) {
    const timespec nap{0, kAMoment.value};
    ::nanosleep(&nap, nullptr);
  }
}

// A refusal before the first sample would last; a tracer that comes later only costs samples.
bool SamplingSource::IsRefused() {
  refusal_ = LastingRefusal(tree_.stop_refusal());
  if (refusal_.has_value() && !is_dump() && HasStopped()) {
    refusal_.reset();
  }
  return refusal_.has_value();
}

bool SamplingSource::HasStopped() {
  tree_.CountInto(context_.accounting);
  return context_.accounting.stops > 0;
}

bool SamplingSource::IsOver(Nanos /*now*/) { return IsRefused() || is_dumped_; }

Nanos SamplingSource::KnownUntil(Nanos now) { return now - kSamplesKnown; }

void SamplingSource::Flushed() {
  if (tree_.node_count() > kMaxNodes || context_.stacks.stack_count() > kMaxNodes) {
    tree_.ForgetStacks();
    context_.stacks.Clear();
  }
}

Nanos SamplingSource::Wait(Nanos until) {
  if (tree_.empty()) {
    ::poll(nullptr, 0, kIdleMillis);  // at the rate "max" the pacer does not wait
  }
  pacer_.Govern(MonotonicNow(), tree_.stopped_most());
  const Nanos due = std::min({tree_.NextInstant(), next_look_, until, end_});
  return pacer_.Wait(due, stop_, has_late_ || tree_.is_waiting_for_stop());
}

EndInfo SamplingSource::WhyOver() {
  if (refusal_.has_value()) {
    return EndOf(*refusal_);
  }
  const bool has_ended = !is_dump() && tree_.empty() && !tree_.IsStartingAgain();
  return has_ended ? EndOf(TargetEnded()) : EndInfo{};
}

Error SamplingSource::TargetEnded() const {
  const Pid pid = TargetOf(context_.request);
  const std::string target = ThingOf(pid);
  if (tree_.has_execed() && CheckTarget(pid).has_value()) {
    return Because(Reason::kTargetExeced, target + " has become another program (exec), which does not run Python", "",
                   target);
  }
  return Because(Reason::kTargetExited, target + " ended", "", target);
}

void SamplingSource::Disarm(Nanos /*patience*/, const std::function<void()>& /*meanwhile*/) {
  if (!is_dump() && !refusal_.has_value()) {
    tree_.ReportAtEnd(MonotonicNow());
  }
}

void SamplingSource::Finish(Nanos /*now*/) {
  if (context_.request.locals() && !refusal_.has_value()) {  // they belong to the sample written last
    for (const auto& sampler : tree_.samplers()) {
      WriteLocals(*sampler, context_.writer);
    }
  }
}

void SamplingSource::CountInto(Accounting& accounting, Nanos now) {
  tree_.CountInto(accounting);
  accounting.late = pacer_.late();
  accounting.missed = pacer_.missed() + accounting.missed_instants;
  accounting.rounds = pacer_.instants();
  accounting.limit = pacer_.limit();
  accounting.starting_cpu = starting_cpu_;
  accounting.collector_cpu = OwnCpuTime();
  accounting.wall = now - begin_;
  accounting.asked_rate_hz = RateOf(context_.request.spec().sample());
  accounting.actual_rate_hz = pacer_.rate_hz(now);
}

}  // namespace ptrace_prof
