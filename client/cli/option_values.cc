#include "client/cli/option_values.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <span>

namespace ptrace_prof {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kDurationUnits[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"min", 60}, {"h", 3600}};
constexpr Unit kRateUnits[] = {{"", 1}, {"hz", 1}, {"Hz", 1}, {"khz", 1e3}, {"kHz", 1e3}, {"k", 1e3}};
constexpr Unit kPercentUnits[] = {{"", 0.01}, {"%", 0.01}};
constexpr Unit kSizeUnits[] = {{"", 1},
                               {"K", 1024.0},
                               {"KiB", 1024.0},
                               {"M", 1024.0 * 1024},
                               {"MiB", 1024.0 * 1024},
                               {"G", 1073741824.0},
                               {"GiB", 1073741824.0}};
constexpr int32_t kLargestPid = 4'194'304;  // of Linux (PID_MAX_LIMIT)
constexpr double kLongestDuration = 3600.0 * 24 * 366;

struct IdleName {
  std::string_view name;
  IdlePolicy policy;
};
constexpr IdleName kIdleNames[] = {{"main", IdlePolicy::kMain}, {"all", IdlePolicy::kAll}, {"none", IdlePolicy::kNone}};

// A number with one of the units.
std::optional<double> ParseQuantity(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (err != std::errc() || !std::isfinite(number) || number < 0) {
    return std::nullopt;
  }
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const Unit& known : units) {
    if (known.name == unit) {
      return number * known.factor;
    }
  }
  return std::nullopt;
}

Error Invalid(std::string_view what, std::string_view text, std::string_view allowed) {
  return Error{Code::kInvalidArgument, fmt::format("'{}' is not {}", text, what), fmt::format("write {}", allowed)};
}

std::optional<int32_t> ParseId(std::string_view text) {
  int32_t id = 0;
  const auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (err != std::errc() || end != text.data() + text.size() || id < 1) {
    return std::nullopt;
  }
  return id;
}

}  // namespace

Result<Nanos> ParseDuration(std::string_view text, std::string_view or_else) {
  const auto seconds = ParseQuantity(text, kDurationUnits);
  if (!seconds.has_value() || *seconds <= 0 || *seconds > kLongestDuration) {
    return Invalid("a duration", text, fmt::format("10, 10s, 500ms, 2m or 1h; {}", or_else));
  }
  return Nanos::FromSeconds(*seconds);
}

Result<double> ParseRate(std::string_view text) {
  if (text == "max") {
    return 0.0;
  }
  const auto rate = ParseQuantity(text, kRateUnits);
  if (!rate.has_value() || *rate < 0.001 || *rate > kMaxRateHz) {
    return Invalid("a sampling rate", text,
                   fmt::format("samples per second, up to {:.0f}: 500, 1khz, or max", kMaxRateHz));
  }
  return *rate;
}

Result<double> ParsePercent(std::string_view text) {
  if (text == "off") {
    return 0.0;
  }
  const auto share = ParseQuantity(text, kPercentUnits);
  if (!share.has_value() || *share <= 0 || *share > 1) {
    return Invalid("a share of one core", text, "1%, 0.5%, 20%, at most 100%, or off for no limit");
  }
  return *share;
}

Result<IdlePolicy> ParseIdle(std::string_view text) {
  for (const IdleName& row : kIdleNames) {
    if (row.name == text) {
      return row.policy;
    }
  }
  return Invalid("a choice of idle threads", text, "main, all or none");
}

Result<GpuCounters> ParseGpuCounters(std::string_view text) {
  if (text == "auto") {
    return GpuCounters::kAuto;
  }
  if (text == "on") {
    return GpuCounters::kOn;
  }
  if (text == "off") {
    return GpuCounters::kOff;
  }
  return Invalid("a choice of counters", text, "auto, on or off");
}

Result<CaptureMode> ParseMode(std::string_view text) {
  if (text == "sample") {
    return CaptureMode::kSample;
  }
  if (text == "trace") {
    return CaptureMode::kTrace;
  }
  if (text == "auto") {
    return CaptureMode::kAuto;
  }
  return Invalid("a mode", text, "sample, trace or auto");
}

Result<OnFull> ParseOnFull(std::string_view text) {
  if (text == "drop") {
    return OnFull::kDrop;
  }
  if (text == "stop") {
    return OnFull::kStop;
  }
  if (text == "throttle") {
    return OnFull::kThrottle;
  }
  return Invalid("a choice of what a full buffer does", text, "drop, throttle or stop");
}

Result<uint64_t> ParseSize(std::string_view text, uint64_t least, uint64_t most) {
  const auto bytes = ParseQuantity(text, kSizeUnits);
  if (!bytes.has_value() || *bytes < static_cast<double>(least) || *bytes > static_cast<double>(most)) {
    return Invalid("a size", text, fmt::format("{}M to {}M, as 64M or 1G", least >> 20, most >> 20));
  }
  return static_cast<uint64_t>(*bytes);
}

Result<std::vector<Tid>> ParseThreads(std::string_view text) {
  std::vector<Tid> threads;
  while (true) {
    const size_t comma = text.find(',');
    const auto id = ParseId(text.substr(0, comma));
    if (!id.has_value()) {
      return Invalid("a thread id", text.substr(0, comma), "ids as `ptrace-prof dump` shows them, such as 4711,4715");
    }
    threads.emplace_back(*id);
    if (comma == std::string_view::npos) {
      return threads;
    }
    text.remove_prefix(comma + 1);
  }
}

Result<Pid> ParsePid(std::string_view text) {
  const auto id = ParseId(text);
  if (!id.has_value()) {
    return Invalid("a process id", text, "a number such as `pgrep -f train.py` prints");
  }
  if (*id > kLargestPid) {
    return Invalid("a process id", text,
                   fmt::format("a number such as `pgrep -f train.py` prints, at most {}", kLargestPid));
  }
  return Pid(*id);
}

Result<Pid> ParseTarget(std::string_view text) {
  PP_ASSIGN_OR_RETURN(const Pid pid, ParsePid(text));
  if (pid.value == ::getpid()) {
    return Because(Reason::kTargetIsProfiler, "this is our own process id", "give that of another process");
  }
  return pid;
}

}  // namespace ptrace_prof
