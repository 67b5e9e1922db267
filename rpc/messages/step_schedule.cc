#include "rpc/messages/step_schedule.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace ptrace_prof {
namespace {

struct Word {
  std::string_view name;
  uint32_t (v1::StepSchedule::*get)() const;
  void (v1::StepSchedule::*set)(uint32_t);
  uint32_t least;
};
using S = v1::StepSchedule;
constexpr std::array<Word, 6> kWords = {{{"skip_first", &S::skip_first, &S::set_skip_first, 0},
                                         {"wait", &S::wait, &S::set_wait, 0},
                                         {"warmup", &S::warmup, &S::set_warmup, 0},
                                         {"active", &S::active, &S::set_active, 1},
                                         {"repeat", &S::repeat, &S::set_repeat, 0},
                                         {"skip_first_wait", &S::skip_first_wait, &S::set_skip_first_wait, 0}}};

using enum StepDuty;
constexpr StepDuty kJustPrepare[] = {kPrepare};
constexpr StepDuty kPrepareAndStart[] = {kPrepare, kStart};
constexpr StepDuty kJustStart[] = {kStart};
constexpr StepDuty kStartAndStop[] = {kStart, kStop};
constexpr StepDuty kStopAndSave[] = {kStop, kSave};
constexpr StepDuty kSaveThenPrepare[] = {kStop, kSave, kPrepare};
constexpr StepDuty kSaveThenStart[] = {kStop, kSave, kPrepare, kStart};
constexpr StepDuty kWarmupWasted[] = {kWarnWarmupBeforeNone, kStart, kStop};
constexpr StepDuty kRecordCut[] = {kWarnRecordBeforeNone, kStop};
constexpr StepDuty kRecordCutByWarmup[] = {kWarnRecordBeforeWarmup, kStop};

using Duties = std::span<const StepDuty>;
// Rows: the action before. Columns: the action that follows: NONE, WARMUP, RECORD, RECORD_AND_SAVE, the end.
constexpr size_t kEnd = 4;
constexpr std::array<std::array<Duties, 5>, 4> kDuties = {{
    {{{}, kJustPrepare, kPrepareAndStart, kPrepareAndStart, {}}},
    {{kWarmupWasted, {}, kJustStart, kJustStart, kStartAndStop}},
    {{kRecordCut, kRecordCutByWarmup, {}, {}, kStopAndSave}},
    {{kStopAndSave, kSaveThenPrepare, kSaveThenStart, kSaveThenStart, kStopAndSave}},
}};

constexpr std::string_view kRemedy =
    "Give words such as skip_first=10,wait=1,warmup=1,active=3,repeat=2; active is needed.";

Error Wrong(std::string message) {
  return Error{Code::kInvalidArgument, "step schedule: " + std::move(message), std::string(kRemedy)};
}

std::string Shown(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 40)) {
    shown += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return '"' + shown + '"';
}

Result<void> ParseWord(std::string_view text, v1::StepSchedule& schedule, std::array<bool, kWords.size()>& seen) {
  const size_t equals = text.find('=');
  for (size_t i = 0; i < kWords.size(); ++i) {
    const Word& word = kWords[i];
    if (equals == std::string_view::npos || text.substr(0, equals) != word.name) {
      continue;
    }
    if (seen[i]) {
      return Wrong(fmt::format("{} is given twice", word.name));
    }
    seen[i] = true;
    const std::string_view digits = text.substr(equals + 1);
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < word.least || value > kMaxSteps) {
      return Wrong(fmt::format("{} is {}, which is not a number from {} to {}", word.name, Shown(digits), word.least,
                               kMaxSteps));
    }
    (schedule.*word.set)(value);
    return {};
  }
  return Wrong(fmt::format("{} is not a known word", Shown(text)));
}

// The place in the cycles of a step after the skipped ones, counted from the begin of the first cycle.
uint64_t PlaceOf(const v1::StepSchedule& schedule, uint64_t step) {
  return step - schedule.skip_first() + (schedule.skip_first_wait() != 0 ? schedule.wait() : 0);
}

}  // namespace

StepAction ActionAt(const v1::StepSchedule& schedule, uint64_t step) {
  if (step < schedule.skip_first() || IsOverAt(schedule, step)) {
    return StepAction::kNone;
  }
  const uint64_t idle = schedule.wait();
  const uint64_t length = idle + schedule.warmup() + schedule.active();
  const uint64_t at = PlaceOf(schedule, step) % length;
  if (at < idle) {
    return StepAction::kNone;
  }
  if (at < idle + schedule.warmup()) {
    return StepAction::kWarmup;
  }
  return at < length - 1 ? StepAction::kRecord : StepAction::kRecordAndSave;
}

bool IsOverAt(const v1::StepSchedule& schedule, uint64_t step) {
  const uint64_t length = uint64_t{schedule.wait()} + schedule.warmup() + schedule.active();
  return length == 0 || (schedule.repeat() > 0 && step >= schedule.skip_first() &&
                         PlaceOf(schedule, step) / length >= schedule.repeat());
}

std::span<const StepDuty> DutiesBetween(StepAction before, std::optional<StepAction> next) {
  return kDuties[static_cast<size_t>(before) % kDuties.size()][next ? static_cast<size_t>(*next) % kEnd : kEnd];
}

Result<v1::StepSchedule> ParseStepSchedule(std::string_view text) {
  v1::StepSchedule schedule;
  std::array<bool, kWords.size()> seen{};
  while (!text.empty()) {
    const size_t comma = text.find(',');
    PP_RETURN_IF_ERROR(ParseWord(text.substr(0, comma), schedule, seen));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  constexpr size_t kActive = 3;
  if (!seen[kActive]) {
    return Wrong("active, the number of steps to record, is missing");
  }
  return schedule;
}

std::string PrintStepSchedule(const v1::StepSchedule& schedule) {
  std::string text;
  for (const Word& word : kWords) {
    const uint32_t value = (schedule.*word.get)();
    if (value != 0 || word.get != &S::skip_first_wait) {  // which few use
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", word.name, value);
    }
  }
  return text;
}

std::string_view CautionOf(const v1::StepSchedule& schedule) {
  return schedule.warmup() == 0 ? "There is no warm-up step: the first recorded step includes the cost of starting."
                                : "";
}

}  // namespace ptrace_prof
