#include "daemon/collector/loop/call_capture.h"

#include <fmt/format.h>
#include <poll.h>

#include "attach/inject/queued_call.h"
#include "attach/proc/memory_grants.h"
#include "attach/proc/procfs.h"
#include "attach/ptrace/held_start.h"
#include "attach/ptrace/traced_threads.h"
#include "daemon/collector/calls/call_tracer.h"
#include "daemon/collector/calls/call_window.h"
#include "daemon/collector/calls/entry_wait.h"
#include "daemon/collector/gpu/gpu_capture.h"
#include "daemon/collector/nvml/nvml_counters.h"
#include "daemon/collector/target/child_count.h"
#include "daemon/collector/target/patient_open.h"
#include "daemon/collector/target/stack_history.h"

namespace ptrace_prof {
namespace {

constexpr int kArmingTries = 5;
constexpr int kPauseMs = 1;  // between two looks at rings that are not busy
constexpr Nanos kAwait = Nanos::FromMillis(2);
constexpr size_t kBusyRecords = 100'000;    // in one look: the next one must not wait
constexpr size_t kMostUnwritten = 250'000;  // records: a pipe takes a while, in which nothing is drained
constexpr Nanos kFlushEvery = Nanos::FromMillis(50);
constexpr Nanos kAccountEvery = Nanos::FromMillis(500);
constexpr Nanos kTellIdleAfter = Nanos::FromSeconds(2);
constexpr Nanos kLeavePatience = Nanos::FromSeconds(1);
constexpr Nanos kLeaveGpuPatience = Nanos::FromSeconds(5);

class CallCapture {
 public:
  CallCapture(const CaptureTask& request, ByteSink& sink, const std::atomic<bool>& stop, const CallCaptureTerms& terms)
      : request_(request), stop_(stop), terms_(terms), writer_(sink, stacks_, request), children_(TargetOf(request)) {}

  Result<void> Run() {
    const LettingGo letting_go(LetGoOf::kLate);
    if (auto begun = Begin(); begun.has_error()) {
      return Refuse(std::move(begun).error());
    }
    if (gpu_.has_value()) {
      gpu_->Begin();
    }
    CallWindow window(request_, tracer_->layout().version, tracer_->steps(),
                      [this](std::string_view notice) { writer_.AddNotice(MonotonicNow(), notice); });
    const bool told = window.TellBefore();
    if (told) {
      PP_RETURN_IF_ERROR(writer_.Flush());  // whoever reads is to know it before the window begins
    }
    if (auto armed = tracer_->Arm(); armed.has_error()) {
      LeaveGpu();
      arming_raced_ = armed.error().code == Code::kUnavailable && !told;
      return told ? armed : Refuse(std::move(armed).error());
    }
    begin_ = MonotonicNow();
    waited_cpu_ = request_.spec().sample().wait_for_python() ? OwnCpuTime()
                                                             : waited_cpu_;  // what came before is not of the window
    TellLateness();
    if (gpu_.has_value()) {
      gpu_->Open(begin_);
    }
    const bool waited = has_told_idle_ && DurationOf(request_) >= EntryWait::kPatience;
    window.Begin(waited ? asked_at_ : begin_);  // a wait is of the time that was asked for
    TellLimit();
    auto recorded = Record(window);
    const Nanos end = MonotonicNow();
    const bool ended = tracer_->HasEnded();
    const bool left = tracer_->has_left();
    const size_t interpreters = tracer_->CountOtherInterpreters();
    LeaveGpu();
    tracer_->Leave(kLeavePatience);
    if (recorded.has_error()) {
      return recorded;  // nobody reads any more: there is no one to tell
    }
    window.TellAfter(end, {.children = children_.count(), .interpreters = interpreters});
    return Finish(ended, left);
  }

  // A thread went on at the very instant of arming, and nothing was written: another try is likely to succeed.
  bool arming_raced() const { return arming_raced_; }

 private:
  // Before anything was written: there may be another way.
  Result<void> Refuse(Error error) const {
    if (terms_.refusal == nullptr || error.code == Code::kGone || error.code == Code::kCancelled) {
      return error;
    }
    *terms_.refusal = std::move(error);
    return {};
  }

  Result<void> Begin() {
    if (request_.spec().sample().wait_for_python()) {
      PP_RETURN_IF_ERROR(AwaitPython());
    }
    if (IsReadByGrant(TargetOf(request_))) {
      return OnlyGrantedToRead(TargetOf(request_));
    }
    PP_RETURN_IF_ERROR(CheckStoppable(TargetOf(request_)));  // before anything is waited for
    if (terms_.refusal != nullptr) {
      PP_RETURN_IF_ERROR(CheckCost());
    }
    PP_ASSIGN_OR_RETURN(
        tracer_, OpenPatiently(TargetOf(request_), [this] { return CallTracer::Open(TargetOf(request_), Context()); }));
    BringInGpu();
    auto installed = Install();
    if (installed.has_error() && gpu_.has_value()) {
      gpu_->Abandon();
    }
    return installed;
  }

  // A process that runs no Python lets nobody in until it does. Where there is no other way to record it, it is waited
  // for as long as that may be of use.
  Result<void> Install() {
    const bool is_only_way = terms_.refusal == nullptr;
    Nanos next_word = MonotonicNow() + kTellIdleAfter;
    bool is_read = true;
    EntryWait wait(request_, tracer_->memory(), tracer_->process().python, asked_at_);
    const auto go_on = [&] {
      if (gpu_.has_value()) {
        gpu_->KeepAlive();
      }
      if (const Nanos now = MonotonicNow(); is_only_way && now > next_word) {
        is_read = TellIdle(now).has_value();
        next_word = now + kAccountEvery;
      }
      // What has just begun is about to come to its program.
      const bool may_come = request_.spec().sample().wait_for_python() || wait.Look(MonotonicNow());
      return may_come && is_read && !stop_.load(std::memory_order_relaxed);
    };
    while (true) {
      auto installed = tracer_->Install(go_on);
      if (installed.has_error() && wait.error()) {
        return *wait.error();
      }
      if (installed.has_value() || installed.error().reason != Reason::kTargetIdle || !is_only_way) {
        waited_cpu_ = has_told_idle_ ? OwnCpuTime() : Nanos();
        return installed;
      }
    }
  }

  // Once in words; then what shows whether anybody reads it still.
  Result<void> TellIdle(Nanos now) {
    if (!has_told_idle_) {
      has_told_idle_ = true;
      writer_.AddNotice(now,
                        fmt::format("process {} runs no Python code just now, all its threads wait or are in C code: "
                                    "its calls are traced as soon as one does",
                                    TargetOf(request_).value));
    }
    writer_.SetAccounting(accounting_);
    return writer_.Flush();
  }

  CaptureContext Context() {
    const bool has_gpu = HasGpu(request_.spec());
    return {request_,
            stacks_,
            writer_,
            accounting_,
            terms_.aids.scripts,
            has_gpu ? &history_ : nullptr,
            terms_.aids.counters,
            &terms_.aids.judge};
  }

  // Before the stub: up to 3.11 nobody may be called in where calls are traced. What comes into the target for it is
  // not in the trace either.
  void BringInGpu() {
    if (!HasGpu(request_.spec())) {
      return;
    }
    gpu_.emplace(GpuTarget{.pid = TargetOf(request_),
                           .memory = tracer_->memory(),
                           .process = tracer_->process(),
                           .roster = tracer_->roster(),
                           .stacks = GpuStackKind::kTraced},
                 Context());
    gpu_->BringIn([&] { return !stop_.load(std::memory_order_relaxed); });
  }

  // The calls go on being traced, as what is launched still comes.
  void LeaveGpu() {
    if (gpu_.has_value()) {
      gpu_->Leave(tracer_->HasEnded() ? Nanos() : kLeaveGpuPatience, [&] { tracer_->Drain(); });
    }
  }

  // A program that we started is traced from its first line on, or it is said by how much it was ahead of us.
  void TellLateness() {
    const bool was_held = IsHeld(TargetOf(request_));
    LetStartGo();
    const auto started = ReadStartTime(TargetOf(request_));
    if (!request_.spec().sample().wait_for_python() || was_held || started.has_error()) {
      return;
    }
    timespec since_boot{};
    ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
    const Nanos now(int64_t{since_boot.tv_sec} * 1'000'000'000 + since_boot.tv_nsec);
    writer_.AddNotice(begin_, fmt::format("process {} had run for {} ms when tracing began: the calls until then are "
                                          "not in the trace",
                                          TargetOf(request_).value, (now - started.value()).value / 1'000'000));
  }

  // Of a limit that the user may not know of.
  void TellLimit() {
    if (terms_.refusal != nullptr && request_.spec().trace().max_overhead() > 0) {
      writer_.AddNotice(MonotonicNow(),
                        fmt::format("tracing is kept to {:g} % of one core, as functions are switched off where it "
                                    "costs more; they are named at the end (--max-overhead off: no limit)",
                                    100 * request_.spec().trace().max_overhead()));
    }
  }

  // What slows down everything that the target does is for the user to choose.
  Result<void> CheckCost() const {
    ProcessMemory memory(TargetOf(request_));
    PP_ASSIGN_OR_RETURN(const PythonProcess python, PythonProcess::Open(TargetOf(request_), memory));
    if (FactsOf(python.layout.version).slows_every_bytecode()) {
      return Because(
          Reason::kTracingTooCostly,
          fmt::format("on CPython {} tracing slows down every bytecode, not only calls", python.version_text),
          "insist with --mode trace", ThingOf(TargetOf(request_)));
    }
    if (request_.spec().trace().max_overhead() > 0 && !FactsOf(python.layout.version).has_monitoring) {
      return Because(Reason::kTracingTooCostly,
                     fmt::format("on CPython {} nothing keeps tracing to {:g} % of one core, as functions cannot be "
                                 "switched off one by one before {} (--max-overhead off traces without a limit)",
                                 python.version_text, 100 * request_.spec().trace().max_overhead(),
                                 FirstWith(&VersionFacts::has_monitoring)),
                     "insist with --max-overhead off", ThingOf(TargetOf(request_)));
    }
    return {};
  }

  // A command that was just started: until its interpreter is there, or its end.
  Result<void> AwaitPython() {
    PP_ASSIGN_OR_RETURN(const UniqueFd pidfd, OpenPidfd(TargetOf(request_)));
    ProcessMemory memory(TargetOf(request_));
    while (true) {
      const auto python = PythonProcess::Open(TargetOf(request_), memory);
      // One that is held may stand where its files are being mapped, and looks damaged then.
      const bool may_come = python.has_error() && (python.error().code == Code::kFailedPrecondition ||
                                                   python.error().code == Code::kGone || IsHeld(TargetOf(request_)));
      if (!may_come || HasExited(pidfd) || stop_.load(std::memory_order_relaxed)) {
        return python.has_value() ? Result<void>() : python.error();
      }
      PauseOrStep(kAwait);
    }
  }

  Result<void> Record(CallWindow& window) {
    Nanos next_flush = begin_;
    size_t unwritten = 0;
    for (Nanos now = begin_; !stop_.load(std::memory_order_relaxed); now = MonotonicNow()) {
      const size_t drained = tracer_->Drain();
      if (gpu_.has_value()) {
        known_until_ = tracer_->leaves_records() ? known_until_ : now;
        gpu_->Drain(now, known_until_);
      }
      children_.Look(now);
      if (window.IsOver(now, request_.spec().trace().on_full() == v1::ON_FULL_STOP ? tracer_->lost_events() : 0)) {
        break;
      }
      unwritten += drained;
      if (now >= next_flush || unwritten >= kMostUnwritten) {
        PP_RETURN_IF_ERROR(Flush(now));
        next_flush = now + kFlushEvery;
        unwritten = 0;
        if (tracer_->HasEnded() || tracer_->has_left()) {
          break;
        }
      }
      if (drained < kBusyRecords && !tracer_->is_behind()) {
        ::poll(nullptr, 0, kPauseMs);
      }
    }
    return {};
  }

  void Account(Nanos now) {
    (void)tracer_->CountOtherInterpreters();
    tracer_->CountInto(accounting_);
    accounting_.children_not_traced = children_.count();
    accounting_.collector_cpu = OwnCpuTime() - waited_cpu_;
    accounting_.wall = now - begin_;
  }

  void ReadCounters() {
    if (terms_.aids.counters != nullptr) {
      terms_.aids.counters->Read(writer_);
    }
  }

  Result<void> Flush(Nanos now) {
    ReadCounters();
    if (now >= next_account_) {
      Account(now);
      writer_.SetAccounting(accounting_);
      next_account_ = now + kAccountEvery;
    }
    return writer_.Flush();
  }

  Result<void> Finish(bool ended, bool left) {
    const Nanos now = MonotonicNow();
    if (gpu_.has_value()) {
      gpu_->Finish(now);
    }
    tracer_->Finish(now);
    ReadCounters();
    Account(now);
    EndInfo end;
    if (ended) {
      end = EndOf(tracer_->HasExeced()
                      ? Error{Code::kGone,
                              fmt::format("process {} has become another program (exec)", TargetOf(request_).value), "",
                              Reason::kTargetExeced}
                      : Error{Code::kGone, fmt::format("process {} ended", TargetOf(request_).value), "",
                              Reason::kTargetExited});
    } else if (left) {
      end = EndOf(tracer_->LeaveReason());
    }
    return writer_.End(now, accounting_, end);
  }

  const CaptureTask& request_;
  const std::atomic<bool>& stop_;
  const CallCaptureTerms terms_;
  StackTable stacks_;
  Accounting accounting_;
  TraceWriter writer_;
  ChildCount children_;
  StackHistory history_{stacks_};
  std::unique_ptr<CallTracer> tracer_;
  std::optional<GpuCapture> gpu_;
  const Nanos asked_at_ = MonotonicNow();
  bool has_told_idle_ = false;
  bool arming_raced_ = false;
  Nanos waited_cpu_;   // before the window, while nobody ran Python
  Nanos known_until_;  // where the threads were
  Nanos begin_;
  Nanos next_account_;
};

}  // namespace

Result<void> RunCallCapture(const CaptureTask& request, ByteSink& sink, const std::atomic<bool>& stop,
                            const CallCaptureTerms& terms) {
  Result<void> ran;
  bool is_over = false;
  for (int left = kArmingTries; left > 0 && !is_over; --left) {
    if (terms.refusal != nullptr) {
      terms.refusal->reset();
    }
    CallCapture capture(request, sink, stop, terms);
    ran = capture.Run();
    is_over = !capture.arming_raced();
  }
  LetStartGo();  // whatever the reason: there may be another way, in which it is not held
  return ran;
}

}  // namespace ptrace_prof
