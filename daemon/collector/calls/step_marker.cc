#include "daemon/collector/calls/step_marker.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ptrace_prof {
namespace {

// Bounds: a target may end any number of steps.
constexpr size_t kMaxTurns = size_t{1} << 20;
constexpr size_t kMaxStretches = size_t{1} << 16;

std::optional<v1::StepSchedule> ScheduleOf(const v1::TraceOptions& asked) {
  if (asked.has_schedule()) {
    return asked.schedule();
  }
  if (asked.steps() == 0) {
    return std::nullopt;
  }
  v1::StepSchedule steps;
  steps.set_active(static_cast<uint32_t>(std::min<uint64_t>(asked.steps(), kMaxSteps)));
  steps.set_repeat(1);
  return steps;
}

}  // namespace

StepMarker::StepMarker(const v1::TraceOptions& asked)
    : has_plan_(asked.has_schedule() || asked.steps() > 0),
      is_on_at_first_(!has_plan_),
      ends_by_number_(!asked.has_schedule() && asked.steps() > 0),
      schedule_(ScheduleOf(asked)),
      is_on_(is_on_at_first_) {}

std::span<const StepDuty> StepMarker::OnStepEnd(Nanos when) {
  const StepAction before = action_;
  CountWhole();
  step_ = step_ ? *step_ + 1 : 0;
  action_ = schedule_ ? ActionAt(*schedule_, *step_) : StepAction::kRecord;
  is_over_ = is_over_ || (schedule_ && IsOverAt(*schedule_, *step_)) || turns_.size() >= kMaxTurns;
  Turns(when, is_recording() && !is_over_);
  return Carry(before, action_, when);
}

std::span<const StepDuty> StepMarker::Carry(StepAction before, std::optional<StepAction> next, Nanos when) {
  const std::span<const StepDuty> duties = DutiesBetween(before, next);
  for (const StepDuty duty : duties) {
    if (duty == StepDuty::kStart) {
      window_begin_ = when;
    } else if (duty == StepDuty::kSave && has_plan_ && windows_.size() < kMaxStretches) {
      windows_.push_back({window_begin_, when});
    }
  }
  return duties;
}

void StepMarker::Finish(Nanos when) {
  if (schedule_) {
    Carry(std::exchange(action_, StepAction::kNone), std::nullopt, when);
  }
}

void StepMarker::CountWhole() {
  if (!step_ || !is_recording() || is_over_) {
    return;
  }
  ++recorded_;
  if (!stretches_.empty() && stretches_.back().last + 1 == *step_) {
    stretches_.back().last = *step_;
  } else if (stretches_.size() < kMaxStretches) {
    stretches_.push_back({*step_, *step_});
  }
}

void StepMarker::GiveUp(Nanos when) {
  if (is_on_at_first_ || is_over_) {
    return;  // everything is recorded anyway
  }
  if (!ends_by_number_) {
    schedule_.reset();
  }
  Turns(when, true);
}

bool StepMarker::IsOnAt(Nanos when) const {
  const auto next = std::ranges::upper_bound(turns_, when, {}, &Turn::when);
  return next == turns_.begin() ? is_on_at_first_ : std::prev(next)->is_on;
}

void StepMarker::Turns(Nanos when, bool is_on) {
  if (is_on == is_on_ || !has_plan_) {
    return;
  }
  is_on_ = is_on;
  turns_.push_back({turns_.empty() ? when : std::max(when, turns_.back().when), is_on});
}

}  // namespace ptrace_prof
