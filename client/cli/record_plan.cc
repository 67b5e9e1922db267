#include "client/cli/record_plan.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <ctime>

#include "attach/base/clean_text.h"
#include "client/cli/option_values.h"
#include "client/cli/step_options.h"
#include "daemon/trace/name_glob.h"

namespace ptrace_prof {
namespace {

Error Usage(std::string message, std::string remedy) {
  return Error{Code::kInvalidArgument, std::move(message), std::move(remedy)};
}

std::string TimeOfDay() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return text;
}

// "/opt/my app/train.sh" → "train.sh": a piece of a file name without surprises.
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
      plan.program.empty() ? std::to_string(plan.request.pid.value) : ProgramName(plan.program[0]);
  return fmt::format("ptrace-prof-{}-{}{}", target, TimeOfDay(), InfoOf(plan.format).extensions.front());
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
    return Usage("there is nothing to record", kRemedy);
  }
  if (count > 1) {
    return Usage(fmt::format("{} and {} are both given", options.pid.empty() ? "--name" : "--pid",
                             program.empty() ? "--name" : "a command"),
                 kRemedy);
  }
  if (!program.empty() && !options.threads.empty()) {
    return Usage("--threads names threads of a process that runs, and the command has none yet",
                 "leave it out, and give `export --threads` the names or ids of those that are to be shown");
  }
  plan.program = program;
  if (options.is_waiting && options.name.empty() && !WaitsForSteps(options)) {
    return Usage("--wait waits for a process that --name describes, and there is none",
                 "give --name PATTERN; or --active N, where it is of a schedule of steps");
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

// A daemon keeps the trace, and does not end with us.
Result<void> CheckDetach(const RecordOptions& options, const std::vector<std::string>& program) {
  if (!options.detach) {
    return {};
  }
  if (!program.empty()) {
    return Usage("--detach leaves the recording to a daemon, which cannot start a command for you",
                 "start the command yourself, and give its --pid");
  }
  if (!options.output.empty() || !options.format.empty()) {
    return Usage("--detach writes no output: the daemon keeps what is recorded",
                 "leave -o and --format out; give them to `ptrace-prof captures fetch` later");
  }
  return {};
}

Result<void> CheckGlobs(std::string_view option, const std::vector<std::string>& globs) {
  if (globs.size() > kMaxGlobs) {
    return Usage(fmt::format("{} is given {} times", option, globs.size()),
                 fmt::format("give at most {}: one pattern may stand for many names", kMaxGlobs));
  }
  for (const std::string& glob : globs) {
    if (const auto compiled = NameGlob::Compile(glob); compiled.has_error()) {
      return Usage(fmt::format("{}: {}", option, compiled.error().message), compiled.error().remedy);
    }
  }
  return {};
}

// Which functions a trace is about.
Result<void> ReadFilters(const RecordOptions& options, CallTraceOptions& trace) {
  PP_RETURN_IF_ERROR(CheckGlobs("--filter", options.filter));
  PP_RETURN_IF_ERROR(CheckGlobs("--exclude", options.exclude));
  trace.filter = options.filter;
  trace.exclude = options.exclude;
  return {};
}

// What calls cannot have.
Result<void> CheckAuto(const RecordOptions& options, CaptureMode mode) {
  if (mode == CaptureMode::kAuto && (options.gil || options.blocking || options.nonblocking)) {
    return Usage(fmt::format("{} is about samples, and --mode auto takes none where calls can be traced",
                             options.gil        ? "--gil"
                             : options.blocking ? "--blocking"
                                                : "--nonblocking"),
                 "leave it out, or take --mode sample");
  }
  return {};
}

// Options that are about one way of recording and not the other.
Result<void> ReadMode(const RecordOptions& options, CaptureRequest& request) {
  if (!options.mode.empty()) {
    PP_ASSIGN_OR_RETURN(request.mode, ParseMode(options.mode));
  }
  struct {
    bool given;
    const char* name;
    CaptureMode of;
  } const rows[] = {
      {options.c_calls, "--c-calls", CaptureMode::kTrace},
      {!options.min_duration.empty(), "--min-duration", CaptureMode::kTrace},
      {!options.buffer.empty(), "--buffer", CaptureMode::kTrace},
      {!options.on_full.empty(), "--on-full", CaptureMode::kTrace},
      {!options.steps.empty(), "--steps", CaptureMode::kTrace},
      {!options.schedule.empty(), "--schedule", CaptureMode::kTrace},
      {!options.skip_first.empty(), "--skip-first", CaptureMode::kTrace},
      {!options.warmup.empty(), "--warmup", CaptureMode::kTrace},
      {!options.active.empty(), "--active", CaptureMode::kTrace},
      {!options.repeat.empty(), "--repeat", CaptureMode::kTrace},
      {!options.filter.empty(), "--filter", CaptureMode::kTrace},
      {!options.exclude.empty(), "--exclude", CaptureMode::kTrace},
      {!options.rate.empty(), "--rate", CaptureMode::kSample},
      {!options.idle.empty(), "--idle", CaptureMode::kSample},
      {!options.threads.empty(), "--threads", CaptureMode::kSample},
      {options.gil, "--gil", CaptureMode::kSample},
      {options.blocking, "--blocking", CaptureMode::kSample},
      {options.nonblocking, "--nonblocking", CaptureMode::kSample},
      {!options.max_stopped.empty(), "--max-stopped", CaptureMode::kSample},
  };
  for (const auto& row : rows) {
    if (row.given && request.mode != row.of && request.mode != CaptureMode::kAuto) {
      return Usage(fmt::format("{} goes with --mode {}", row.name, row.of == CaptureMode::kTrace ? "trace" : "sample"),
                   fmt::format("leave {} out, or take that mode", row.name));
    }
  }
  PP_RETURN_IF_ERROR(CheckAuto(options, request.mode));
  PP_RETURN_IF_ERROR(ReadFilters(options, request.trace));
  if (request.mode != CaptureMode::kSample && !options.max_overhead.empty()) {  // of samples it limits what we use
    PP_ASSIGN_OR_RETURN(request.trace.max_overhead, ParsePercent(options.max_overhead));
  } else if (request.mode == CaptureMode::kAuto) {
    request.trace.max_overhead = kAutoTraceOverhead;
  }
  request.trace.c_calls = options.c_calls;
  if (!options.min_duration.empty()) {
    PP_ASSIGN_OR_RETURN(request.trace.min_duration, ParseDuration(options.min_duration, "leave it out for all calls"));
  }
  PP_RETURN_IF_ERROR(ReadStepOptions(options, request.trace));
  if (!options.on_full.empty()) {
    PP_ASSIGN_OR_RETURN(request.trace.on_full, ParseOnFull(options.on_full));
  }
  if (!options.buffer.empty()) {
    PP_ASSIGN_OR_RETURN(request.trace.buffer_bytes, ParseSize(options.buffer, kMinBufferBytes, kMaxBufferBytes));
  }
  return {};
}

Result<void> ReadGpu(const RecordOptions& options, CaptureRequest& request) {
  const struct {
    std::string_view name;
    GpuCaptureDetail detail;
  } rows[] = {{"coarse", GpuCaptureDetail::kCoarse},
              {"default", GpuCaptureDetail::kDefault},
              {"full", GpuCaptureDetail::kFull}};
  const std::string_view asked = !options.gpu_detail.empty() ? std::string_view(options.gpu_detail) : "default";
  if (!options.gpu && options.gpu_detail.empty()) {
    return {};
  }
  for (const auto& row : rows) {
    if (row.name == asked) {
      request.gpu = row.detail;
      return {};
    }
  }
  return Usage(fmt::format("--gpu-detail {} is not known", CleanText(asked)), "give coarse, default or full");
}

// After mode and GPU: samples bring nothing in.
Result<void> ReadForce(const RecordOptions& options, CaptureRequest& request) {
  if (options.force && request.mode == CaptureMode::kSample && request.gpu == GpuCaptureDetail::kOff) {
    return Usage("--force goes with --mode trace or --gpu", "leave --force out, or take one of them");
  }
  request.force = options.force;
  return {};
}

Result<void> ReadValues(const RecordOptions& options, CaptureRequest& request) {
  if (!options.duration.empty()) {
    PP_ASSIGN_OR_RETURN(request.duration, ParseDuration(options.duration));
  }
  if (!options.rate.empty()) {
    PP_ASSIGN_OR_RETURN(request.rate_hz, ParseRate(options.rate));
    request.max_stopped = 0;  // who asks for a rate is to have it
  }
  if (!options.max_overhead.empty()) {
    PP_ASSIGN_OR_RETURN(request.max_overhead, ParsePercent(options.max_overhead));
  }
  if (!options.max_stopped.empty()) {
    PP_ASSIGN_OR_RETURN(request.max_stopped, ParsePercent(options.max_stopped));
  }
  if (!options.threads.empty()) {
    PP_ASSIGN_OR_RETURN(request.threads, ParseThreads(options.threads));
  }
  if (!options.idle.empty()) {
    PP_ASSIGN_OR_RETURN(request.idle, ParseIdle(options.idle));
  }
  if (options.blocking && options.nonblocking) {
    return Usage("--blocking stops the process for every sample, and --nonblocking forbids it",
                 "leave one of them out");
  }
  if (!options.pid.empty()) {
    PP_ASSIGN_OR_RETURN(request.pid, ParseTarget(options.pid));
  }
  PP_RETURN_IF_ERROR(ReadMode(options, request));
  if (!options.gpu_counters.empty()) {
    PP_ASSIGN_OR_RETURN(request.gpu_counters, ParseGpuCounters(options.gpu_counters));
  }
  PP_RETURN_IF_ERROR(ReadGpu(options, request));
  PP_RETURN_IF_ERROR(ReadForce(options, request));
  request.max_depth = options.max_depth;
  request.gil_only = options.gil;
  request.subprocesses = options.subprocesses;
  request.stops = options.blocking                              ? StopPolicy::kAll
                  : options.nonblocking || request.rate_hz <= 0 ? StopPolicy::kNone
                                                                : StopPolicy::kBrief;
  return {};
}

}  // namespace

Result<CaptureRequest> MakeRecordRequest(const RecordOptions& options) {
  CaptureRequest request;
  request.verb = CaptureVerb::kRecord;
  PP_RETURN_IF_ERROR(ReadValues(options, request));
  return request;
}

Result<RecordPlan> MakeRecordPlan(const RecordOptions& options, const std::vector<std::string>& program) {
  RecordPlan plan;
  PP_RETURN_IF_ERROR(ChooseTarget(options, program, plan));
  PP_RETURN_IF_ERROR(CheckDetach(options, program));
  PP_ASSIGN_OR_RETURN(plan.request, MakeRecordRequest(options));
  PP_RETURN_IF_ERROR(CheckOutput(options.output));
  const bool by_default = options.format.empty() && (options.output.empty() || options.output == "-");
  PP_ASSIGN_OR_RETURN(plan.format, ChooseFormat(by_default ? "html" : options.format, options.output));
  NameOutput(options, plan);
  return plan;
}

Result<void> FindTarget(CaptureBackend& backend, const RecordOptions& options, RecordPlan& plan) {
  if (!plan.named.has_value()) {
    return {};
  }
  PP_RETURN_IF_ERROR(FindNamed(backend, *plan.named, plan.request));
  NameOutput(options, plan);
  return {};
}

}  // namespace ptrace_prof
