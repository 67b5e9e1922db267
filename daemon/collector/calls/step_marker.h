// Counts the steps of a training job and says which are recorded: told of each step's end, it knows the next one's
// number, what the plan has to do, and when the recording goes on and off.
//
//   off ──first end: step 0──► by the plan, step by step ──► over
//    └──GiveUp──► on, whatever a schedule says; so many steps still end it
//
// The first end that is seen begins step 0: what ran before it was no whole step. Without a plan every step is
// recorded, and so is what comes before the first. Owned by whoever traces the process in which the steps end; one
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/base/types.h"
#include "rpc/messages/step_schedule.h"

namespace ptrace_prof {

class StepMarker {
 public:
  // From `when` on the recording is on, or off.
  struct Turn {
    Nanos when;
    bool is_on = false;
  };
  // Whole steps that were recorded one after the other.
  struct Stretch {
    uint64_t first = 0;
    uint64_t last = 0;
  };

  // `asked`: so many whole steps and nothing else, or those of a schedule; neither: all.
  explicit StepMarker(const v1::TraceOptions& asked = {});

  // A step has ended, the next one begins. What there is to do now, in order.
  std::span<const StepDuty> OnStepEnd(Nanos when);
  // No steps come: what the plan would leave out is recorded from now on.
  void GiveUp(Nanos when);

  bool has_plan() const { return has_plan_; }
  bool is_on_at_first() const { return is_on_at_first_; }
  std::span<const Turn> turns() const { return turns_; }  // in order of time; they only grow

  // The step that runs; none before the first end.
  std::optional<uint64_t> step() const { return step_; }
  StepAction action() const { return action_; }
  bool is_recording() const { return action_ == StepAction::kRecord || action_ == StepAction::kRecordAndSave; }
  // Whatever comes, nothing more is recorded.
  bool is_over() const { return is_over_; }
  uint64_t recorded_steps() const { return recorded_; }
  std::span<const Stretch> stretches() const { return stretches_; }

 private:
  void CountWhole();
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
};

}  // namespace ptrace_prof
