// The steps that a trace is to record, in one expression.
#pragma once

#include "rpc/messages/step_schedule.h"

namespace ptrace_prof {

struct Schedule {
  uint32_t skip_first = 0;
  uint32_t wait = 0;
  uint32_t warmup = 0;
  uint32_t active = 1;
  uint32_t repeat = 0;
  uint32_t skip_first_wait = 0;
};

inline v1::StepSchedule MessageOf(const Schedule& schedule) {
  v1::StepSchedule message;
  message.set_skip_first(schedule.skip_first);
  message.set_wait(schedule.wait);
  message.set_warmup(schedule.warmup);
  message.set_active(schedule.active);
  message.set_repeat(schedule.repeat);
  message.set_skip_first_wait(schedule.skip_first_wait);
  return message;
}

// That number of whole steps; or those of a schedule.
struct AskedSteps {
  uint64_t steps = 0;
  std::optional<Schedule> schedule = std::nullopt;

  operator v1::TraceOptions() const {  // NOLINT(google-explicit-constructor)
    v1::TraceOptions asked;
    asked.set_steps(steps);
    if (schedule.has_value()) {
      *asked.mutable_schedule() = MessageOf(*schedule);
    }
    return asked;
  }
};

}  // namespace ptrace_prof
