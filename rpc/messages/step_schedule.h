// Which steps of a training job are recorded: the grammar, the states and the transitions of torch.profiler.schedule.
//
//   skip_first ─► wait ─► warmup ─► active ─┐     NONE, WARMUP, RECORD; the last active step is RECORD_AND_SAVE
//                  ▲────────── repeat ──────┘     repeat = 0: forever; skip_first_wait ≠ 0: the first cycle has no wait
//
// Pure values, independent of jobs and captures. Set by --skip-first, --wait, --warmup, --active, --repeat and
// --skip-first-wait.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

inline constexpr uint32_t kMaxSteps = 1'000'000'000;  // limit of each number in a schedule

enum class StepAction : uint8_t { kNone, kWarmup, kRecord, kRecordAndSave };

// What a recorder must do between two consecutive actions, in order.
enum class StepDuty : uint8_t {
  kPrepare,
  kStart,
  kStop,
  kSave,
  kWarnWarmupBeforeNone,    // the schedule is wrong
  kWarnRecordBeforeNone,    //
  kWarnRecordBeforeWarmup,  //
};

StepAction ActionAt(const v1::StepSchedule& schedule, uint64_t step);
// Nothing will be recorded from this step on.
bool IsOverAt(const v1::StepSchedule& schedule, uint64_t step);

// `next` empty: the recording ends here.
std::span<const StepDuty> DutiesBetween(StepAction before, std::optional<StepAction> next);

// "skip_first=10,wait=1,warmup=1,active=3,repeat=2": in any order, each at most once; active is required. The error
// names the word, what is wrong with it, and what is allowed.
Result<v1::StepSchedule> ParseStepSchedule(std::string_view text);
std::string PrintStepSchedule(const v1::StepSchedule& schedule);
// A hint about a legal but surprising schedule; empty if there is none.
std::string_view CautionOf(const v1::StepSchedule& schedule);

}  // namespace ptrace_prof
