#include "client/cli/record/record_plan.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>

#include "client/cli/process_id.h"
#include "rpc/messages/quantity.h"

namespace ptrace_prof {
namespace {

Error Usage(std::string message, std::string remedy) {
  return Error{Code::kInvalidArgument, std::move(message), std::move(remedy)};
}

std::string FileTime() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return text;
}

// "/opt/my app/train.sh" → "train.sh": safe to use in a file name.
std::string ProgramName(const std::string& program) {
  std::string name = program.substr(program.rfind('/') + 1).substr(0, 40);
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) != 0 || c == '.' || c == '-' || c == '_' ? c : '_';
  }
  return name;
}

std::string DefaultOutput(const RecordPlan& plan) {
  if (plan.format == ExportFormat::kText) {
    return "-";
  }
  const std::string target =
      plan.program.empty() ? std::to_string(TargetOf(plan.task).value) : ProgramName(plan.program[0]);
  return fmt::format("ptrace-prof-{}-{}{}", target, FileTime(), InfoOf(plan.format).extensions.front());
}

std::string SpoolBase(const std::string& output) {
  struct stat info {};
  const bool special = output == "-" || (::stat(output.c_str(), &info) == 0 && !S_ISREG(info.st_mode));
  if (!special) {
    return output;
  }
  const char* folder = std::getenv("TMPDIR");
  return fmt::format("{}/ptrace-prof-{}", folder != nullptr && *folder != '\0' ? folder : "/tmp", ::getpid());
}

void NameOutput(const RecordOptions& options, RecordPlan& plan) {
  plan.output = options.output.empty() ? DefaultOutput(plan) : options.output;
  plan.spool_base = SpoolBase(plan.output);
}

Result<void> CheckOutput(const std::string& output) {
  struct stat info {};
  if (::stat(output.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return Usage(fmt::format("{} is a directory", output), "name a file in it");
  }
  return {};
}

Result<void> ChooseTarget(const RecordOptions& options, const std::vector<std::string>& program, RecordPlan& plan) {
  constexpr char kRemedy[] =
      "give one of --pid PID, --name PATTERN, or -- and the command to start: ptrace-prof record -- python3 train.py";
  const int count = int{!options.pid.empty()} + int{!options.name.empty()} + int{!program.empty()};
  if (count == 0) {
    return Usage("no process or command to record is given", kRemedy);
  }
  if (count > 1) {
    return Usage(fmt::format("{} and {} are both given", options.pid.empty() ? "--name" : "--pid",
                             program.empty() ? "--name" : "a command"),
                 kRemedy);
  }
  if (!program.empty() && plan.task.spec().sample().threads_size() > 0) {
    return Usage("--threads needs a running process; a new command has no threads yet",
                 "leave it out, and choose the threads later with `export --threads`");
  }
  plan.program = program;
  if (!options.pid.empty()) {
    PP_ASSIGN_OR_RETURN(const Pid pid, ParseTarget(options.pid));
    SetTarget(pid, &plan.task);
  }
  if (options.name.empty()) {
    return {};
  }
  PP_ASSIGN_OR_RETURN(const auto checked, CommandPattern::Compile(options.name));
  (void)checked;
  plan.named = NamedQuery{.pattern = options.name, .wait = std::nullopt, .quiet = options.quiet};
  if (options.is_waiting) {
    plan.named->wait = Nanos();
    if (!options.wait.empty()) {
      PP_ASSIGN_OR_RETURN(plan.named->wait, ParseDuration(options.wait, "--wait without a time waits for ever"));
    }
  }
  return {};
}

// The daemon keeps the trace and continues after our end, so some options make no sense.
Result<void> CheckDetach(const RecordOptions& options, const std::vector<std::string>& program) {
  if (!options.detach) {
    return {};
  }
  if (!program.empty()) {
    return Usage("--detach records in a daemon, which cannot start a command for you",
                 "start the command yourself, and give its --pid");
  }
  if (!options.on_trace_ready.empty()) {
    return Usage("--on-trace-ready is done by the command, which --detach ends", "leave one of them out");
  }
  if (!options.output.empty() || !options.format.empty()) {
    return Usage("--detach writes no output: the daemon keeps what is recorded",
                 "leave -o and --format out; give them to `ptrace-prof captures fetch` later");
  }
  return {};
}

}  // namespace

Result<void> ReadWait(bool is_written, RecordOptions& options, SpecOptions& spec) {
  constexpr std::string_view kParts[] = {"trace.schedule.active", "trace.schedule.warmup", "trace.schedule.skip_first",
                                         "trace.schedule.repeat", "trace.schedule.skip_first_wait"};
  const bool has_parts = std::ranges::any_of(kParts, [&](std::string_view path) { return spec.Says(path); });
  if (!is_written) {
    return {};
  }
  if (options.name.empty() && !has_parts) {
    return Usage("--wait needs --name or --active",
                 "give --name PATTERN to wait for a process, or --active N for a schedule of steps");
  }
  if (!options.name.empty() && has_parts) {
    return Usage("--wait is ambiguous: it applies to --name and to the schedule of steps",
                 "write the schedule in one option: --schedule wait=1,warmup=1,active=3,repeat=1");
  }
  options.is_waiting = !options.name.empty();
  if (has_parts) {
    spec.Say("trace.schedule.wait", options.wait);
  }
  return {};
}

Result<RecordPlan> MakeRecordPlan(const RecordOptions& options, const v1::CaptureSpec& spec,
                                  const std::vector<std::string>& program) {
  RecordPlan plan;
  *plan.task.mutable_spec() = spec;
  PP_RETURN_IF_ERROR(ChooseTarget(options, program, plan));
  PP_RETURN_IF_ERROR(CheckDetach(options, program));
  PP_RETURN_IF_ERROR(CheckOutput(options.output));
  const bool by_default = options.format.empty() && (options.output.empty() || options.output == "-");
  PP_ASSIGN_OR_RETURN(plan.format, ChooseFormat(by_default ? "html" : options.format, options.output));
  NameOutput(options, plan);
  PP_ASSIGN_OR_RETURN(plan.on_trace_ready, ParseTraceReady(options.on_trace_ready));
  return plan;
}

Result<void> FindTarget(CaptureBackend& backend, const RecordOptions& options, RecordPlan& plan) {
  if (!plan.named.has_value()) {
    return {};
  }
  PP_RETURN_IF_ERROR(FindNamed(backend, *plan.named, plan.task));
  NameOutput(options, plan);
  return {};
}

}  // namespace ptrace_prof
