#include "daemon/collector/calls/call_source.h"

#include <fmt/format.h>
#include <poll.h>
#include <time.h>

#include <algorithm>

#include "attach/inject/queued_call.h"
#include "attach/proc/memory_grants.h"
#include "attach/proc/procfs.h"
#include "attach/ptrace/held_start.h"
#include "daemon/collector/calls/entry_wait.h"
#include "daemon/collector/target/patient_open.h"

namespace ptrace_prof {
namespace {

constexpr int kPauseMs = 1;  // between two looks at rings that are not busy
constexpr Nanos kAwait = Nanos::FromMillis(2);
constexpr size_t kBusyRecords = 100'000;    // in one look: the next one must not wait
constexpr size_t kMostUnwritten = 250'000;  // records: a write to the pipe takes long, and nothing is drained meanwhile
constexpr Nanos kOthersWithin = Nanos::FromMillis(100);  // other sources have written what they recorded until then
constexpr Nanos kFlushCallsEvery = Nanos::FromMillis(50);
constexpr Nanos kTracerPatience = Nanos::FromSeconds(1);
constexpr int kLongestPauseMs = 64;
constexpr Nanos kReportIdleAfter = Nanos::FromSeconds(2);
constexpr Nanos kShowLifeEvery = Nanos::FromMillis(500);

// Another collector may hold a thread for a sample at this instant. A debugger holds it for longer. Each try may stop
// other threads for a moment, so the pauses grow.
Result<void> ArmPatiently(CallTracer& tracer) {
  const Nanos deadline = MonotonicNow() + kTracerPatience;
  auto armed = tracer.Arm();
  for (int pause_ms = 2;
       armed.has_error() && armed.error().reason == Reason::kAlreadyTraced && MonotonicNow() < deadline;
       pause_ms = std::min(2 * pause_ms, kLongestPauseMs)) {
    ::poll(nullptr, 0, pause_ms);
    armed = tracer.Arm();
  }
  return armed;
}

}  // namespace

CallSource::CallSource(const CaptureContext& context, const std::atomic<bool>& stop, bool is_only_way)
    : context_(context), stop_(stop), is_only_way_(is_only_way), children_(TargetOf(context.request)) {}

Result<void> CallSource::Open() {
  if (context_.request.spec().sample().wait_for_python()) {
    PP_RETURN_IF_ERROR(AwaitPython());
  }
  if (IsReadByGrant(pid())) {
    return OnlyGrantedToRead(pid());
  }
  PP_RETURN_IF_ERROR(CheckStoppable(pid()));  // before anything is waited for
  if (!is_only_way_) {
    PP_RETURN_IF_ERROR(CheckCost());
  }
  PP_ASSIGN_OR_RETURN(tracer_, OpenPatiently(pid(), [this] { return CallTracer::Open(pid(), context_); }));
  return {};
}

// Waits for the interpreter of a command that was just started, or for the end of the command.
Result<void> CallSource::AwaitPython() {
  PP_ASSIGN_OR_RETURN(const UniqueFd pidfd, OpenPidfd(pid()));
  ProcessMemory memory(pid());
  while (true) {
    const auto python = PythonProcess::Open(pid(), memory);
    // A held process may stand where its files are being mapped. It looks damaged then.
    const bool may_come = python.has_error() && (python.error().code == Code::kFailedPrecondition ||
                                                 python.error().code == Code::kGone || IsHeld(pid()));
    if (!may_come || HasExited(pidfd) || !is_wanted()) {
      return python.has_value() ? Result<void>() : python.error();
    }
    PauseOrStep(kAwait);
  }
}

// Only the user may decide to slow down everything that the target does.
Result<void> CallSource::CheckCost() const {
  ProcessMemory memory(pid());
  PP_ASSIGN_OR_RETURN(const PythonProcess python, PythonProcess::Open(pid(), memory));
  const VersionFacts& facts = FactsOf(python.layout.version);
  if (facts.slows_every_bytecode()) {
    return Because(Reason::kTracingTooCostly,
                   fmt::format("on CPython {} tracing slows down every bytecode, not only calls", python.version_text),
                   "to trace nevertheless, use --mode trace", ThingOf(pid()));
  }
  const double max_overhead = context_.request.spec().trace().max_overhead();
  if (max_overhead > 0 && !facts.has_monitoring) {
    return Because(Reason::kTracingTooCostly,
                   fmt::format("CPython {} cannot limit tracing to {:g} % of one core: single functions can be "
                               "switched off only from {} on (--max-overhead off traces without a limit)",
                               python.version_text, 100 * max_overhead, FirstWith(&VersionFacts::has_monitoring)),
                   "to trace without a limit, use --max-overhead off", ThingOf(pid()));
  }
  return {};
}

// A process that runs no Python takes nothing up until it does. If tracing is the only way to record it, it is waited
// for as long as that may be of use.
Result<void> CallSource::Prepare(const GoOn& go_on) {
  Nanos next_report = MonotonicNow() + kReportIdleAfter;
  bool is_read = true;
  EntryWait wait(context_.request, tracer_->memory(), tracer_->process().python, asked_at_);
  const auto go_on_waiting = [&] {
    const bool is_asked_for = go_on();
    if (const Nanos now = MonotonicNow(); is_only_way_ && now > next_report) {
      is_read = ReportIdle(now).has_value();
      next_report = now + kShowLifeEvery;
    }
    // A program that has just begun is about to run Python.
    const bool may_come = context_.request.spec().sample().wait_for_python() || wait.Look(MonotonicNow());
    return may_come && is_read && is_asked_for;
  };
  while (true) {
    auto installed = tracer_->Install(go_on_waiting);
    if (installed.has_error() && wait.error()) {
      return *wait.error();
    }
    if (installed.has_value() || installed.error().reason != Reason::kTargetIdle || !is_only_way_) {
      waited_cpu_ = has_reported_idle_ ? OwnCpuTime() : Nanos();
      return installed;
    }
  }
}

// The first time as a notice. After that the flush shows whether the trace is still read.
Result<void> CallSource::ReportIdle(Nanos now) {
  if (!has_reported_idle_) {
    has_reported_idle_ = true;
    context_.writer.AddNotice(now, fmt::format("process {} runs no Python code now: all its threads wait or run C "
                                               "code; tracing begins when one runs Python code",
                                               pid().value));
  }
  context_.writer.SetAccounting(context_.accounting);
  return context_.writer.Flush();
}

Result<Nanos> CallSource::Arm(Nanos /*begun*/) {
  window_.emplace(context_.request, tracer_->layout().version, tracer_->steps(),
                  [this](std::string_view notice) { context_.writer.AddNotice(MonotonicNow(), notice); });
  if (auto armed = ArmPatiently(*tracer_); armed.has_error()) {
    arming_raced_ = armed.error().code == Code::kUnavailable && !has_reported_idle_;
    return armed.error();
  }
  begin_ = MonotonicNow();
  window_->ReportCaveats();
  if (context_.request.spec().sample().wait_for_python()) {
    waited_cpu_ = OwnCpuTime();  // what came before does not belong to the window
  }
  ReportLateness();
  const bool waited = has_reported_idle_ && DurationOf(context_.request) >= EntryWait::kPatience;
  window_->Begin(waited ? asked_at_ : begin_);  // a wait counts as part of the requested duration
  ReportLimit();
  return begin_;
}

// A program that we started is traced from its first line on. If it was ahead of us, a notice says by how much.
void CallSource::ReportLateness() {
  const bool was_held = IsHeld(pid());
  LetStartGo();
  const auto started = ReadStartTime(pid());
  if (!context_.request.spec().sample().wait_for_python() || was_held || started.has_error()) {
    return;
  }
  timespec since_boot{};
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const Nanos now(int64_t{since_boot.tv_sec} * 1'000'000'000 + since_boot.tv_nsec);
  context_.writer.AddNotice(
      begin_, fmt::format("process {} had run for {} ms when tracing began: earlier calls are not in the trace",
                          pid().value, (now - started.value()).value / 1'000'000));
}

// The user may not know of this limit.
void CallSource::ReportLimit() {
  const double max_overhead = context_.request.spec().trace().max_overhead();
  if (!is_only_way_ && max_overhead > 0) {
    context_.writer.AddNotice(MonotonicNow(),
                              fmt::format("tracing is limited to {:g} % of one core: costly functions are switched off "
                                          "and listed at the end (--max-overhead off: no limit)",
                                          100 * max_overhead));
  }
}

StackSource::Pace CallSource::pace() const {
  return {.first_flush = Nanos(), .flush_every = kFlushCallsEvery, .polls_others_each_turn = true};
}

std::optional<RecordedProcess> CallSource::process() {
  if (tracer_ == nullptr || tracer_->HasEnded()) {
    return std::nullopt;
  }
  return RecordedProcess{pid(), tracer_->memory(), tracer_->process(), tracer_->roster()};
}

bool CallSource::Look(Nanos now) {
  children_.Look(now);
  if (now < next_end_check_) {
    return true;
  }
  next_end_check_ = now + kFlushCallsEvery;
  return !tracer_->HasEnded() && !tracer_->has_left();
}

void CallSource::Poll(Nanos now, Nanos /*known_until*/) {
  WriteWindows(now - kOthersWithin);
  drained_ = tracer_->Drain();
  unwritten_ += drained_;
}

void CallSource::WriteWindows(Nanos until) {
  const std::span<const TimeRange> windows = tracer_->steps().windows();
  for (; windows_ < windows.size() && windows[windows_].end <= until; ++windows_) {
    context_.writer.AddWindow(windows[windows_]);
  }
}

Nanos CallSource::KnownUntil(Nanos now) {
  known_until_ = tracer_->leaves_records() ? known_until_ : now;
  return known_until_;
}

bool CallSource::IsOver(Nanos now) {
  const bool ends_by_loss = context_.request.spec().trace().on_full() == v1::ON_FULL_STOP;
  return window_->IsOver(now, ends_by_loss ? tracer_->lost_events() : 0);
}

bool CallSource::MustFlush() const { return unwritten_ >= kMostUnwritten; }

void CallSource::Flushed() { unwritten_ = 0; }

Nanos CallSource::Wait(Nanos /*until*/) {
  if (drained_ < kBusyRecords && !tracer_->is_behind()) {
    ::poll(nullptr, 0, kPauseMs);
  }
  return MonotonicNow();
}

EndInfo CallSource::WhyOver() {
  ended_at_ = MonotonicNow();
  if (tracer_->HasExeced()) {
    return EndOf(Error{Code::kGone, fmt::format("process {} has become another program (exec)", pid().value), "",
                       Reason::kTargetExeced});
  }
  if (tracer_->HasEnded()) {
    return EndOf(Error{Code::kGone, fmt::format("process {} ended", pid().value), "", Reason::kTargetExited});
  }
  return tracer_->has_left() ? EndOf(tracer_->LeaveReason()) : EndInfo{};
}

void CallSource::Disarm(Nanos patience, const std::function<void()>& /*meanwhile*/) {
  const size_t interpreters = tracer_->CountOtherInterpreters();
  tracer_->Leave(patience);
  window_->ReportAfter(ended_at_, {.children = children_.count(), .interpreters = interpreters});
}

void CallSource::Finish(Nanos now) {
  tracer_->Finish(now);
  tracer_->steps().Finish(now);
  WriteWindows(now);
}

void CallSource::CountInto(Accounting& accounting, Nanos now) {
  (void)tracer_->CountOtherInterpreters();
  tracer_->CountInto(accounting);
  accounting.children_not_traced = children_.count();
  accounting.collector_cpu = OwnCpuTime() - waited_cpu_;
  accounting.wall = now - begin_;
}

}  // namespace ptrace_prof
