// Counts the steps of a training job and decides which are recorded: at each step's end it gives the number of the next
// one, the duties of the plan, and the times at which recording turns on and off.
//
//   off ──first end: step 0──► by the plan, step by step ──► over
//    └──GiveUp──► on, whatever a schedule says; so many steps still end it
//
// The first end that is seen begins step 0, because what ran before was no whole step. Without a plan everything is
// recorded, also before the first step. Owned by the tracer of the process in which the steps end; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attach/base/types.h"
#include "daemon/trace/write/trace_writer.h"
#include "rpc/messages/step_schedule.h"

namespace ptrace_prof {

class StepMarker {
 public:
  // From `when` on recording is on or off.
  struct Turn {
    Nanos when;
    bool is_on = false;
  };
  // Consecutive whole steps that were recorded.
  struct Stretch {
    uint64_t first = 0;
    uint64_t last = 0;
  };

  // `asked`: a number of whole steps and nothing else, or the steps of a schedule; neither: all.
  explicit StepMarker(const v1::TraceOptions& asked = {});

  // A step has ended and the next one begins. Returns the duties, in order.
  std::span<const StepDuty> OnStepEnd(Nanos when);
  // No steps come: from now on everything is recorded.
  void GiveUp(Nanos when);
  // The recording ends; ends the window in which that happens.
  void Finish(Nanos when);

  bool has_plan() const { return has_plan_; }
  bool is_on_at_first() const { return is_on_at_first_; }
  std::span<const Turn> turns() const { return turns_; }  // ordered by time; only appended to

  // Whether recording was on then; for times until which the steps are known.
  bool IsOnAt(Nanos when) const;

  // The running step is marked on this thread. Returns the thread on which the one before was, if that is another.
  std::optional<ThreadHandle> MarkOn(ThreadHandle thread) {
    const std::optional<ThreadHandle> before = std::exchange(marked_on_, thread);
    return before == thread ? std::nullopt : before;
  }

  // The running step; nullopt before the first end.
  std::optional<uint64_t> step() const { return step_; }
  StepAction action() const { return action_; }
  bool is_recording() const { return action_ == StepAction::kRecord || action_ == StepAction::kRecordAndSave; }
  // Nothing more will be recorded.
  bool is_over() const { return is_over_; }
  uint64_t recorded_steps() const { return recorded_; }
  std::span<const Stretch> stretches() const { return stretches_; }
  // The times of the active steps of each cycle that is over; only appended to. Without a plan none.
  std::span<const TimeRange> windows() const { return windows_; }

 private:
  void CountWhole();
  std::span<const StepDuty> Carry(StepAction before, std::optional<StepAction> next, Nanos when);
  void Turns(Nanos when, bool is_on);

  bool has_plan_;
  bool is_on_at_first_;
  bool ends_by_number_;
  std::optional<v1::StepSchedule> schedule_;
  std::optional<uint64_t> step_;
  StepAction action_ = StepAction::kNone;
  bool is_on_;
  bool is_over_ = false;
  uint64_t recorded_ = 0;
  std::vector<Turn> turns_;
  std::vector<Stretch> stretches_;
  std::optional<ThreadHandle> marked_on_;
  Nanos window_begin_;
  std::vector<TimeRange> windows_;
};

}  // namespace ptrace_prof
