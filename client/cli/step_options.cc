#include "client/cli/step_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

namespace ptrace_prof {
namespace {

Error Usage(std::string message, std::string remedy) {
  return Error{Code::kInvalidArgument, std::move(message), std::move(remedy)};
}

// One word of a schedule, as an option.
struct Word {
  const char* option;
  std::string RecordOptions::*text;
  uint32_t StepSchedule::*member;
  uint32_t least;
  const char* help;
};
constexpr Word kWords[] = {
    {"--skip-first", &RecordOptions::skip_first, &StepSchedule::skip_first, 0,
     "With --mode trace: steps before the schedule begins (default: 0)"},
    {"--wait", &RecordOptions::wait, &StepSchedule::wait, 0, nullptr},  // declared with --name
    {"--warmup", &RecordOptions::warmup, &StepSchedule::warmup, 0,
     "With --mode trace: steps that only warm up, in each cycle (default: 0)"},
    {"--active", &RecordOptions::active, &StepSchedule::active, 1,
     "With --mode trace: steps that are recorded, in each cycle"},
    {"--repeat", &RecordOptions::repeat, &StepSchedule::repeat, 0,
     "With --mode trace: cycles (default: 0, without end)"},
};

bool HasSchedulePart(const RecordOptions& options) {
  return !options.skip_first.empty() || !options.warmup.empty() || !options.active.empty() || !options.repeat.empty();
}

Result<uint32_t> ParseSteps(const char* option, std::string_view text, uint32_t least) {
  uint32_t steps = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
  if (error != std::errc() || end != text.data() + text.size() || steps < least || steps > kMaxSteps) {
    return Usage(fmt::format("{}: '{}' is not a number of steps", option, text),
                 fmt::format("write a whole number from {} to {}", least, kMaxSteps));
  }
  return steps;
}

Result<StepSchedule> ReadWords(const RecordOptions& options) {
  if (options.is_waiting && !options.name.empty()) {
    return Usage(
        "--wait is both for the process of --name and for the steps of a schedule, and which is meant is not clear",
        "write the schedule in one word: --schedule wait=1,warmup=1,active=3,repeat=1");
  }
  StepSchedule schedule;
  for (const Word& word : kWords) {
    const std::string& text = options.*word.text;
    const bool is_given = !text.empty() || (word.member == &StepSchedule::wait && options.is_waiting);
    if (is_given) {
      PP_ASSIGN_OR_RETURN(schedule.*word.member, ParseSteps(word.option, text, word.least));
    } else if (word.least > 0) {
      return Usage(fmt::format("a schedule must say how many steps are recorded, and {} is missing", word.option),
                   fmt::format("give {} N", word.option));
    }
  }
  return schedule;
}

}  // namespace

void DeclareStepOptions(CLI::App& app, RecordOptions& options) {
  app.add_option("--steps", options.steps, "With --mode trace: N whole steps of torch.optim, no more")->type_name("N");
  for (const Word& word : kWords) {
    if (word.help != nullptr) {
      app.add_option(word.option, options.*word.text, word.help)->type_name("N");
    }
  }
  app.add_option("--schedule", options.schedule,
                 "The same in one word: skip_first=10,wait=1,warmup=1,active=3,repeat=2")
      ->type_name("WORDS");
}

bool WaitsForSteps(const RecordOptions& options) {
  return options.is_waiting && options.name.empty() && HasSchedulePart(options);
}

Result<void> ReadStepOptions(const RecordOptions& options, CallTraceOptions& trace) {
  const bool has_parts = HasSchedulePart(options);
  if (has_parts && !options.schedule.empty()) {
    return Usage("--schedule says all of a schedule, and parts of one are given too",
                 "leave --skip-first, --warmup, --active and --repeat out, or --schedule");
  }
  if (!options.steps.empty() && (has_parts || !options.schedule.empty())) {
    return Usage("--steps and a schedule are both given", "leave --steps out: a schedule ends with --repeat");
  }
  if (!options.steps.empty()) {
    PP_ASSIGN_OR_RETURN(trace.steps, ParseSteps("--steps", options.steps, 1));
  }
  if (!options.schedule.empty()) {
    PP_ASSIGN_OR_RETURN(trace.schedule, ParseStepSchedule(options.schedule));
  }
  if (has_parts) {
    PP_ASSIGN_OR_RETURN(trace.schedule, ReadWords(options));
  }
  return {};
}

std::string StepsText(const CallTraceOptions& trace) {
  if (trace.steps > 0) {
    return fmt::format("{} whole step{}, ", trace.steps, trace.steps == 1 ? "" : "s");
  }
  return trace.schedule ? fmt::format("in the steps of {}, ", PrintStepSchedule(*trace.schedule)) : std::string();
}

}  // namespace ptrace_prof
