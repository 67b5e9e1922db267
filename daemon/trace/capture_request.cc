#include "daemon/trace/capture_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "attach/base/hexadecimal.h"
#include "daemon/trace/name_glob.h"

namespace ptrace_prof {
namespace {

constexpr int32_t kMaxPid = 4'194'304;  // the kernel's own limit (PID_MAX_LIMIT)
constexpr size_t kMaxThreads = 65'536;
constexpr uint32_t kMaxDepthLimit = 1'000'000;
constexpr double kMinRateHz = 0.001;
constexpr double kMaxOverheadLimit = 1024;
constexpr int64_t kMaxDurationNs = int64_t{366} * 24 * 3600 * 1'000'000'000;

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

template <typename Number>
bool ParseIn(std::string_view text, Number low, Number high, Number& out) {
  const auto number = ParseNumber<Number>(text);
  if (!number || !(*number >= low && *number <= high)) {  // written so that NaN fails
    return false;
  }
  out = *number;
  return true;
}

bool ParseBool(std::string_view text, bool& out) {
  out = text == "1";
  return text == "0" || text == "1";
}

bool ParseSentence(std::string_view text, std::string& out) {
  out = text;
  return text.size() <= kMaxSentence && std::ranges::none_of(text, [](char c) { return c >= 0 && c < ' '; });
}

bool ParseThreads(std::string_view text, std::vector<Tid>& out) {
  while (!text.empty()) {
    const size_t comma = text.find(',');
    Tid tid;
    if (out.size() >= kMaxThreads || !ParseIn<int32_t>(text.substr(0, comma), 1, kMaxPid, tid.value)) {
      return false;
    }
    out.push_back(tid);
    if (comma == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(comma + 1);
  }
  return false;
}

std::string PrintThreads(const std::vector<Tid>& threads) {
  std::string text;
  for (const Tid tid : threads) {
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ",", tid.value);
  }
  return text;
}

// Patterns, each ended by a character that none of them may have in it.
// A pattern may be of any characters, an argument (launch_message.cc) may not: its bytes in hexadecimal.
constexpr char kGlobEnd = ',';

std::string PrintGlobs(const std::vector<std::string>& globs) {
  std::string text;
  for (const std::string& glob : globs) {
    text += ToHexadecimal(glob) + kGlobEnd;
  }
  return text;
}

// What they may be is for CheckGlobs to say.
bool ParseGlobs(std::string_view text, std::vector<std::string>& out) {
  while (!text.empty()) {
    const size_t end = text.find(kGlobEnd);
    auto glob = end == std::string_view::npos ? std::nullopt : FromHexadecimal(text.substr(0, end));
    if (!glob.has_value()) {
      return false;
    }
    out.push_back(std::move(*glob));
    text.remove_prefix(end + 1);
  }
  return true;
}

constexpr std::string_view kVerbNames[] = {"record", "dump", "list", "doctor"};
constexpr std::string_view kModeNames[] = {"sample", "trace", "auto"};
constexpr std::string_view kOnFullNames[] = {"drop", "stop", "throttle"};
constexpr std::string_view kGpuCounterNames[] = {"auto", "on", "off"};
constexpr std::string_view kGpuNames[] = {"off", "coarse", "default", "full"};
constexpr std::string_view kIdleNames[] = {"main", "all", "none"};
constexpr std::string_view kStopNames[] = {"brief", "none", "all"};

template <typename Enum, size_t N>
bool ParseName(std::string_view text, const std::string_view (&names)[N], Enum& out) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == text) {
      out = static_cast<Enum>(i);
      return true;
    }
  }
  return false;
}

// One row per key: how it is printed, parsed, and what is allowed. An empty print means "left at its default".
struct KeyRow {
  std::string_view key;
  std::string_view allowed;
  std::string (*print)(const CaptureRequest&);
  bool (*parse)(std::string_view, CaptureRequest&);
};

bool ParseSchedule(std::string_view text, CaptureRequest& request) {
  const auto schedule = ParseStepSchedule(text);
  if (schedule.has_value()) {
    request.trace.schedule = schedule.value();
  }
  return schedule.has_value();
}

std::string PrintBool(bool value) { return value ? "1" : "0"; }

constexpr KeyRow kKeys[] = {
    {"verb", "record, dump, list or doctor",
     [](const CaptureRequest& r) { return std::string(kVerbNames[static_cast<size_t>(r.verb)]); },
     [](std::string_view t, CaptureRequest& r) { return ParseName(t, kVerbNames, r.verb); }},
    {"mode", "sample, trace or auto",
     [](const CaptureRequest& r) { return std::string(kModeNames[static_cast<size_t>(r.mode)]); },
     [](std::string_view t, CaptureRequest& r) { return ParseName(t, kModeNames, r.mode); }},
    {"sampled_because", "a sentence of at most 1000 bytes", [](const CaptureRequest& r) { return r.sampled_because; },
     [](std::string_view t, CaptureRequest& r) { return ParseSentence(t, r.sampled_because); }},
    {"c_calls", "0 or 1", [](const CaptureRequest& r) { return PrintBool(r.trace.c_calls); },
     [](std::string_view t, CaptureRequest& r) { return ParseBool(t, r.trace.c_calls); }},
    {"force", "0 or 1", [](const CaptureRequest& r) { return PrintBool(r.force); },
     [](std::string_view t, CaptureRequest& r) { return ParseBool(t, r.force); }},
    {"buffer_bytes", "1 MiB to 4 GiB, in bytes",
     [](const CaptureRequest& r) { return std::to_string(r.trace.buffer_bytes); },
     [](std::string_view t, CaptureRequest& r) {
       return ParseIn<uint64_t>(t, kMinBufferBytes, kMaxBufferBytes, r.trace.buffer_bytes);
     }},
    {"min_duration_ns", "0 (all calls) to 366 days",
     [](const CaptureRequest& r) { return std::to_string(r.trace.min_duration.value); },
     [](std::string_view t, CaptureRequest& r) {
       return ParseIn<int64_t>(t, 0, kMaxDurationNs, r.trace.min_duration.value);
     }},
    {"steps", "0 (by time) to 1000000000", [](const CaptureRequest& r) { return std::to_string(r.trace.steps); },
     [](std::string_view t, CaptureRequest& r) { return ParseIn<uint64_t>(t, 0, kMaxSteps, r.trace.steps); }},
    {"schedule", "skip_first=0,wait=0,warmup=0,active=1,repeat=0 with numbers up to 1000000000, active at least 1",
     [](const CaptureRequest& r) { return r.trace.schedule ? PrintStepSchedule(*r.trace.schedule) : std::string(); },
     ParseSchedule},
    {"on_full", "drop, stop or throttle",
     [](const CaptureRequest& r) { return std::string(kOnFullNames[static_cast<size_t>(r.trace.on_full)]); },
     [](std::string_view t, CaptureRequest& r) { return ParseName(t, kOnFullNames, r.trace.on_full); }},
    {"longest_ns", "0 (no limit) to 366 days",
     [](const CaptureRequest& r) { return std::to_string(r.trace.longest.value); },
     [](std::string_view t, CaptureRequest& r) {
       return ParseIn<int64_t>(t, 0, kMaxDurationNs, r.trace.longest.value);
     }},
    {"trace_max_overhead", "0 (no limit) to 1 core",
     [](const CaptureRequest& r) { return fmt::format("{}", r.trace.max_overhead); },
     [](std::string_view t, CaptureRequest& r) { return ParseIn<double>(t, 0, 1, r.trace.max_overhead); }},
    {"filter", "patterns in hexadecimal, a comma behind each",
     [](const CaptureRequest& r) { return PrintGlobs(r.trace.filter); },
     [](std::string_view t, CaptureRequest& r) { return ParseGlobs(t, r.trace.filter); }},
    {"exclude", "patterns in hexadecimal, a comma behind each",
     [](const CaptureRequest& r) { return PrintGlobs(r.trace.exclude); },
     [](std::string_view t, CaptureRequest& r) { return ParseGlobs(t, r.trace.exclude); }},
    {"gpu", "off, coarse, default or full",
     [](const CaptureRequest& r) {
       return r.gpu == GpuCaptureDetail::kOff ? std::string() : std::string(kGpuNames[static_cast<size_t>(r.gpu)]);
     },
     [](std::string_view t, CaptureRequest& r) { return ParseName(t, kGpuNames, r.gpu); }},
    {"pid", "1 to 4194304, or 0 for a verb that needs none",
     [](const CaptureRequest& r) { return std::to_string(r.pid.value); },
     [](std::string_view t, CaptureRequest& r) { return ParseIn<int32_t>(t, 0, kMaxPid, r.pid.value); }},
    {"start_ticks", "a number", [](const CaptureRequest& r) { return std::to_string(r.start_ticks); },
     [](std::string_view t, CaptureRequest& r) {
       return ParseIn<uint64_t>(t, 0, std::numeric_limits<uint64_t>::max(), r.start_ticks);
     }},
    {"duration_ns", "0 (no limit) to 366 days",
     [](const CaptureRequest& r) { return std::to_string(r.duration.value); },
     [](std::string_view t, CaptureRequest& r) { return ParseIn<int64_t>(t, 0, kMaxDurationNs, r.duration.value); }},
    {"rate_hz", "0 (as fast as possible), or 0.001 to 200000",
     [](const CaptureRequest& r) { return fmt::format("{}", r.rate_hz); },
     [](std::string_view t, CaptureRequest& r) {
       return ParseIn<double>(t, 0, kMaxRateHz, r.rate_hz) && (r.rate_hz == 0 || r.rate_hz >= kMinRateHz);
     }},
    {"max_overhead", "0 (no limit) to 1024 cores",
     [](const CaptureRequest& r) { return fmt::format("{}", r.max_overhead); },
     [](std::string_view t, CaptureRequest& r) { return ParseIn<double>(t, 0, kMaxOverheadLimit, r.max_overhead); }},
    {"max_depth", "1 to 1000000", [](const CaptureRequest& r) { return std::to_string(r.max_depth); },
     [](std::string_view t, CaptureRequest& r) { return ParseIn<uint32_t>(t, 1, kMaxDepthLimit, r.max_depth); }},
    {"idle", "main, all or none",
     [](const CaptureRequest& r) { return std::string(kIdleNames[static_cast<size_t>(r.idle)]); },
     [](std::string_view t, CaptureRequest& r) { return ParseName(t, kIdleNames, r.idle); }},
    {"threads", "at most 65536 thread ids, each 1 to 4194304, separated by commas",
     [](const CaptureRequest& r) { return PrintThreads(r.threads); },
     [](std::string_view t, CaptureRequest& r) { return ParseThreads(t, r.threads); }},
    {"gil_only", "0 or 1", [](const CaptureRequest& r) { return PrintBool(r.gil_only); },
     [](std::string_view t, CaptureRequest& r) { return ParseBool(t, r.gil_only); }},
    {"subprocesses", "0 or 1", [](const CaptureRequest& r) { return PrintBool(r.subprocesses); },
     [](std::string_view t, CaptureRequest& r) { return ParseBool(t, r.subprocesses); }},
    {"stops", "brief, none or all",
     [](const CaptureRequest& r) { return std::string(kStopNames[static_cast<size_t>(r.stops)]); },
     [](std::string_view t, CaptureRequest& r) { return ParseName(t, kStopNames, r.stops); }},
    {"max_stopped", "0 (no limit) to 1 of the time",
     [](const CaptureRequest& r) { return fmt::format("{}", r.max_stopped); },
     [](std::string_view t, CaptureRequest& r) { return ParseIn<double>(t, 0, 1, r.max_stopped); }},
    {"locals", "0 or 1", [](const CaptureRequest& r) { return PrintBool(r.locals); },
     [](std::string_view t, CaptureRequest& r) { return ParseBool(t, r.locals); }},
    {"gpu_counters", "auto, on or off",
     [](const CaptureRequest& r) { return std::string(kGpuCounterNames[static_cast<size_t>(r.gpu_counters)]); },
     [](std::string_view t, CaptureRequest& r) { return ParseName(t, kGpuCounterNames, r.gpu_counters); }},
    {"wait_for_python", "0 or 1", [](const CaptureRequest& r) { return PrintBool(r.wait_for_python); },
     [](std::string_view t, CaptureRequest& r) { return ParseBool(t, r.wait_for_python); }},
};
constexpr size_t kKeyCount = std::size(kKeys);

// Callers are not trusted: only short, printable pieces of what they sent appear in messages.
std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text.substr(0, 64)) {
    quoted += (c >= 0x20 && c < 0x7f) ? c : '?';
  }
  return quoted + (text.size() > 64 ? "…\"" : "\"");
}

Error Invalid(std::string message, std::string_view remedy) {
  return Error{Code::kInvalidArgument, "capture request: " + std::move(message), std::string(remedy)};
}

Result<void> CheckGlobs(std::string_view option, const std::vector<std::string>& globs) {
  if (globs.size() > kMaxGlobs) {
    return Invalid(fmt::format("{} is given {} times", option, globs.size()),
                   fmt::format("give at most {}: one pattern may stand for many names", kMaxGlobs));
  }
  for (const std::string& glob : globs) {
    if (auto compiled = NameGlob::Compile(glob); compiled.has_error()) {
      return Invalid(fmt::format("{}: {}", option, compiled.error().message), compiled.error().remedy);
    }
  }
  return {};
}

Result<void> CheckTrace(const CaptureRequest& request) {
  const CallTraceOptions& trace = request.trace;
  const bool is_sampled = request.mode == CaptureMode::kSample && request.sampled_because.empty();
  if (is_sampled && (!trace.filter.empty() || !trace.exclude.empty())) {
    return Invalid("filter and exclude are about traced calls, and mode=sample traces none",
                   "leave them out, or take mode=trace");
  }
  if (is_sampled && trace.max_overhead > 0) {
    return Invalid("trace_max_overhead is about traced calls, and mode=sample traces none",
                   "leave it out, or take mode=trace");
  }
  PP_RETURN_IF_ERROR(CheckGlobs("filter", trace.filter));
  return CheckGlobs("exclude", trace.exclude);
}

Result<void> CheckWhole(const CaptureRequest& request) {
  const bool needs_pid = request.verb == CaptureVerb::kRecord || request.verb == CaptureVerb::kDump;
  if (needs_pid && request.pid.value == 0) {
    return Invalid("pid is missing", "give pid=1 to 4194304");
  }
  if (request.verb == CaptureVerb::kList && request.pid.value != 0) {
    return Invalid("verb=list is about all processes, and a pid is given", "leave pid out");
  }
  const std::string_view mode = kModeNames[static_cast<size_t>(request.mode)];
  if (request.mode != CaptureMode::kSample && request.verb != CaptureVerb::kRecord) {
    return Invalid(fmt::format("mode={} goes with verb=record only", mode), "leave mode out, or record");
  }
  if (request.mode != CaptureMode::kSample && (request.gil_only || request.stops != StopPolicy::kBrief)) {
    return Invalid(fmt::format("gil_only and stops are about samples, and mode={} takes none{}", mode,
                               request.mode == CaptureMode::kAuto ? " where it can" : ""),
                   "leave them out, or take mode=sample");
  }
  if (request.mode == CaptureMode::kSample && (request.trace.steps > 0 || request.trace.schedule)) {
    return Invalid("steps and schedule are about traces of calls, and mode=sample makes none",
                   "leave them out, or take mode=trace");
  }
  if (request.trace.steps > 0 && request.trace.schedule) {
    return Invalid("steps and schedule are both given", "leave steps out: a schedule ends with its repeats");
  }
  if (request.gpu != GpuCaptureDetail::kOff && request.verb != CaptureVerb::kRecord) {
    return Invalid("gpu goes with verb=record only", "leave gpu out, or record");
  }
  if (request.locals && request.verb != CaptureVerb::kDump) {
    return Invalid("locals=1 goes with verb=dump only", "leave locals out, or dump");
  }
  return CheckTrace(request);
}

}  // namespace

std::vector<std::string> EncodeRequest(const CaptureRequest& request) {
  std::vector<std::string> arguments;
  for (const KeyRow& row : kKeys) {
    if (const std::string value = row.print(request); !value.empty()) {
      arguments.push_back(fmt::format("{}={}", row.key, value));
    }
  }
  return arguments;
}

Result<CaptureRequest> DecodeRequest(const std::vector<std::string>& arguments) {
  CaptureRequest request;
  bool seen[kKeyCount] = {};
  for (const std::string_view argument : arguments) {
    const size_t equals = argument.find('=');
    const std::string_view key = argument.substr(0, equals);
    size_t row = 0;
    while (row < kKeyCount && kKeys[row].key != key) {
      ++row;
    }
    if (row == kKeyCount || equals == std::string_view::npos) {
      return Invalid("unknown argument " + Quote(argument), "arguments are key=value with a known key");
    }
    if (seen[row]) {
      return Invalid(fmt::format("{} is given twice", key), "give it once");
    }
    seen[row] = true;
    const std::string_view value = argument.substr(equals + 1);
    if (!kKeys[row].parse(value, request)) {
      return Invalid(fmt::format("{}={} is out of range", key, Quote(value)),
                     fmt::format("{} may be {}", key, kKeys[row].allowed));
    }
  }
  PP_RETURN_IF_ERROR(CheckWhole(request));
  return request;
}

}  // namespace ptrace_prof
