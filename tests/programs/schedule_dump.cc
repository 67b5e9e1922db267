// Prints what each step of each schedule of small numbers does, for comparison with torch.profiler.schedule.
//
// A line: "skip_first wait warmup active repeat skip_first_wait actions"; an action is the name that PyTorch gives it.
#include <fmt/format.h>

#include <array>

#include "rpc/messages/step_schedule.h"

namespace {

constexpr std::array<uint32_t, 6> kLeast = {0, 0, 0, 1, 0, 0};
constexpr std::array<uint32_t, 6> kMost = {2, 3, 2, 3, 2, 2};
constexpr uint64_t kSteps = 24;
constexpr std::array<const char*, 4> kNames = {"NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"};

void Print(const std::array<uint32_t, 6>& numbers) {
  ptrace_prof::v1::StepSchedule schedule;
  schedule.set_skip_first(numbers[0]);
  schedule.set_wait(numbers[1]);
  schedule.set_warmup(numbers[2]);
  schedule.set_active(numbers[3]);
  schedule.set_repeat(numbers[4]);
  schedule.set_skip_first_wait(numbers[5]);
  std::string line = fmt::format("{}", fmt::join(numbers, " "));
  for (uint64_t step = 0; step < kSteps; ++step) {
    line += fmt::format(" {}", kNames[static_cast<size_t>(ptrace_prof::ActionAt(schedule, step))]);
  }
  fmt::print("{}\n", line);
}

}  // namespace

int main() {
  std::array<uint32_t, 6> numbers = kLeast;
  for (size_t at = 0; at < numbers.size();) {
    Print(numbers);
    for (at = 0; at < numbers.size() && ++numbers[at] > kMost[at]; ++at) {
      numbers[at] = kLeast[at];
    }
  }
  return 0;
}
