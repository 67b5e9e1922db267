// Counts the steps of a training job and says which are recorded: told of each step's end, it knows the next one's
// number and what the schedule has to do.
//
// The first end that is seen begins step 0: what ran before it was no whole step. Without a schedule every step is
// recorded. Owned by whoever traces the thread on which the steps end; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "daemon/trace/step_schedule.h"

namespace ptrace_prof {

class StepMarker {
 public:
  explicit StepMarker(std::optional<StepSchedule> schedule = std::nullopt) : schedule_(schedule) {}

  // A step has ended, the next one begins. What there is to do now, in order.
  std::span<const StepDuty> OnStepEnd() {
    step_ = step_ ? *step_ + 1 : 0;
    const StepAction before = action_;
    action_ = schedule_ ? schedule_->ActionAt(*step_) : StepAction::kRecord;
    return DutiesBetween(before, action_);
  }

  // The step that runs; none before the first end.
  std::optional<uint64_t> step() const { return step_; }
  StepAction action() const { return action_; }
  bool is_recording() const { return action_ == StepAction::kRecord || action_ == StepAction::kRecordAndSave; }
  // Whatever comes, nothing more is recorded.
  bool is_over() const { return schedule_ && step_ && schedule_->IsOverAt(*step_); }

 private:
  std::optional<StepSchedule> schedule_;
  std::optional<uint64_t> step_;
  StepAction action_ = StepAction::kNone;
};

}  // namespace ptrace_prof
