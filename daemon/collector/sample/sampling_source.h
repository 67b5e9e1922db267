// Samples the target and its children: the stack source that injects nothing.
//
// If the target is no Python process yet (a launcher), Look opens the one that comes. At a rate the loop sleeps until
// the next instant; a dump is one sample. Owned by RunCapture; one thread.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/collector/sample/pacer.h"
#include "daemon/collector/sample/process_tree.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/source.h"

namespace ptrace_prof {

class SamplingSource final : public StackSource {
 public:
  // `stop_sharers`: captures that share the limit on stopped time; null: this one alone. All must outlive it.
  SamplingSource(const CaptureContext& context, const std::atomic<bool>& stop,
                 const std::atomic<uint32_t>* stop_sharers);

  Result<void> Open() override;
  Result<void> Prepare(const GoOn& /*go_on*/) override { return {}; }
  Result<Nanos> Arm(Nanos begun) override;
  void Poll(Nanos now, Nanos known_until) override;
  void Disarm(Nanos patience, const std::function<void()>& meanwhile) override;
  void Finish(Nanos now) override;

  Pace pace() const override;
  bool HoldsThreads() const override { return true; }
  std::optional<RecordedProcess> process() override;
  void SetOnGone(std::function<void()> on_gone) override { on_gone_ = std::move(on_gone); }
  bool Look(Nanos now) override;
  void Delay(Nanos took) override;
  bool IsOver(Nanos now) override;
  Nanos KnownUntil(Nanos now) override;
  void Flush() override { tree_.Flush(); }
  void Flushed() override;
  Nanos Wait(Nanos until) override;
  EndInfo WhyOver() override;
  void CountInto(Accounting& accounting, Nanos now) override;

 private:
  bool is_dump() const { return context_.request.verb() == CaptureTask::DUMP; }
  double rate() const;
  Nanos EndFrom(Nanos begin) const;
  void Begin(Nanos when);
  void TakeDump();
  Nanos UntilNextLook(Nanos took) const;
  bool IsRefused();
  bool HasStopped();
  Error TargetEnded() const;
  void OnClose(ProcessSampler& sampler);

  const CaptureContext context_;
  const std::atomic<bool>& stop_;
  std::function<void()> on_gone_;
  ProcessTree tree_;
  Pacer pacer_;
  std::optional<Error> refusal_;  // of the kernel, to stop the target
  bool has_late_ = false;         // threads that were asked to stop and have not yet
  bool is_dumped_ = false;
  Nanos begin_;
  Nanos end_;
  Nanos next_look_;
  Nanos starting_cpu_;  // until then
};

}  // namespace ptrace_prof
