// Which steps of a training job are recorded: torch.profiler.schedule, with its grammar, its states and what happens
// between them.
//
//   skip_first ─► wait ─► warmup ─► active ─┐     NONE, WARMUP, RECORD; the last active step is RECORD_AND_SAVE
//                  ▲────────── repeat ──────┘     repeat = 0: for ever
//
// Pure values; knows neither jobs nor captures. Asked for by --skip-first, --wait, --warmup, --active, --repeat.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

inline constexpr uint32_t kMaxSteps = 1'000'000'000;  // of each word of a schedule

enum class StepAction : uint8_t { kNone, kWarmup, kRecord, kRecordAndSave };

// What a recorder has to do when one step's action follows another's, in order.
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
// For people; empty for a duty that is no warning.
std::string_view WarningOf(StepDuty duty);

// "skip_first=10,wait=1,warmup=1,active=3,repeat=2": any order, each at most once, active needed. The error names the
// word, what is wrong with it, and what may stand there.
Result<v1::StepSchedule> ParseStepSchedule(std::string_view text);
std::string PrintStepSchedule(const v1::StepSchedule& schedule);
// Something legal that the user should know; empty if there is nothing.
std::string_view CautionOf(const v1::StepSchedule& schedule);

}  // namespace ptrace_prof
