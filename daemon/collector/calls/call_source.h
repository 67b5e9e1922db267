// Traces the calls of the target: the stack source that injects a stub.
//
// Children are not traced: they stay untouched and are counted. Before Arm every refusal leaves the target as it was,
// and nothing is written, except while an idle target is waited for. Owned by RunCapture; one thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/ptrace/traced_threads.h"
#include "daemon/collector/calls/call_tracer.h"
#include "daemon/collector/calls/call_window.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/child_count.h"
#include "daemon/collector/target/source.h"

namespace ptrace_prof {

class CallSource final : public StackSource {
 public:
  // `is_only_way`: false if the process can be sampled instead. Then a costly trace is refused, and an idle target is
  // not waited for. All must outlive it.
  CallSource(const CaptureContext& context, const std::atomic<bool>& stop, bool is_only_way);

  Result<void> Open() override;
  Result<void> Prepare(const GoOn& go_on) override;
  void Poll(Nanos now, Nanos known_until) override;
  Result<Nanos> Arm(Nanos begun) override;
  void Disarm(Nanos patience, const std::function<void()>& meanwhile) override;
  void Finish(Nanos now) override;

  Pace pace() const override;
  bool HoldsThreads() const override { return false; }
  std::optional<RecordedProcess> process() override;
  void SetOnGone(std::function<void()> /*on_gone*/) override {}  // it stays open until the end
  bool Look(Nanos now) override;
  void Delay(Nanos /*took*/) override {}  // other sources are there before the window begins
  bool IsOver(Nanos now) override;
  bool MustFlush() const override;
  void Flushed() override;
  Nanos KnownUntil(Nanos now) override;
  Nanos Wait(Nanos until) override;
  void KeepUp() override { tracer_->Drain(); }
  EndInfo WhyOver() override;
  void CountInto(Accounting& accounting, Nanos now) override;

  // Whether the steps that were asked for include that time, which is one that KnownUntil has passed.
  bool IsRecorded(Nanos when) const { return tracer_ == nullptr || tracer_->steps().IsOnAt(when); }

  // Arm failed because a thread went on at that very instant, and nothing was written: another try is likely to
  // succeed.
  bool arming_raced() const { return arming_raced_; }

 private:
  Pid pid() const { return TargetOf(context_.request); }
  bool is_wanted() const { return !stop_.load(std::memory_order_relaxed); }
  Result<void> AwaitPython();
  Result<void> CheckCost() const;
  Result<void> ReportIdle(Nanos now);
  void ReportLateness();
  void ReportLimit();
  void WriteWindows(Nanos until);

  const LettingGo letting_go_{LetGoOf::kLate};
  const CaptureContext context_;
  const std::atomic<bool>& stop_;
  const bool is_only_way_;
  ChildCount children_;
  std::unique_ptr<CallTracer> tracer_;
  std::optional<CallWindow> window_;
  const Nanos asked_at_ = MonotonicNow();
  bool has_reported_idle_ = false;
  bool arming_raced_ = false;
  Nanos waited_cpu_;  // used before the window, while the target ran no Python
  Nanos begin_;
  Nanos ended_at_;
  Nanos known_until_;
  Nanos next_end_check_;
  size_t windows_ = 0;    // written
  size_t drained_ = 0;    // records of the last turn
  size_t unwritten_ = 0;  // records since the last flush
};

}  // namespace ptrace_prof
