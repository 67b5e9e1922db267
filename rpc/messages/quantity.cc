#include "rpc/messages/quantity.h"

#include <fmt/format.h>

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
constexpr Unit kDurationUnits[] = {{"", 1},   {"s", 1},    {"ms", 1e-3}, {"us", 1e-6},
                                   {"m", 60}, {"min", 60}, {"h", 3600},  {"d", 86400}};
constexpr Unit kRateUnits[] = {{"", 1}, {"hz", 1}, {"Hz", 1}, {"khz", 1e3}, {"kHz", 1e3}, {"k", 1e3}};
constexpr Unit kPercentUnits[] = {{"", 0.01}, {"%", 0.01}};
constexpr Unit kSizeUnits[] = {{"", 1},         {"B", 1},       {"K", 0x1p10},   {"KB", 0x1p10}, {"KiB", 0x1p10},
                               {"M", 0x1p20},   {"MB", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30},  {"GB", 0x1p30},
                               {"GiB", 0x1p30}, {"T", 0x1p40},  {"TB", 0x1p40},  {"TiB", 0x1p40}};
constexpr double kLongestDuration = 3600.0 * 24 * 366;
constexpr double kMostBytes = 0x1p60;

std::optional<double> ParseQuantity(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (err != std::errc() || !std::isfinite(number) || number < 0) {
    return std::nullopt;
  }
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) {
    unit.remove_prefix(1);
  }
  for (const Unit& known : units) {
    if (known.name == unit) {
      return number * known.factor;
    }
  }
  return std::nullopt;
}

Error NotA(std::string_view what, std::string_view text, std::string_view allowed) {
  return Error{Code::kInvalidArgument, fmt::format("'{}' is not {}", text, what), fmt::format("write {}", allowed)};
}

}  // namespace

Result<Nanos> ParseDuration(std::string_view text, std::string_view or_else) {
  const auto seconds = ParseQuantity(text, kDurationUnits);
  if (!seconds.has_value() || *seconds <= 0 || *seconds > kLongestDuration) {
    return NotA("a duration", text, fmt::format("10, 10s, 500ms, 2m or 1h; {}", or_else));
  }
  return Nanos::FromSeconds(*seconds);
}

Result<double> ParseRate(std::string_view text) {
  const auto rate = ParseQuantity(text, kRateUnits);
  return rate.has_value() && *rate > 0 ? Result<double>(*rate)
                                       : NotA("a sampling rate", text, "samples per second: 500, 1khz, or max");
}

Result<double> ParsePercent(std::string_view text) {
  const auto share = ParseQuantity(text, kPercentUnits);
  if (!share.has_value() || *share <= 0 || *share > 1) {
    return NotA("a share", text, "1%, 0.5%, 20%, at most 100%, or off for no limit");
  }
  return *share;
}

Result<uint64_t> ParseSize(std::string_view text) {
  const auto bytes = ParseQuantity(text, kSizeUnits);
  return bytes.has_value() && *bytes >= 1 && *bytes <= kMostBytes
             ? Result<uint64_t>(static_cast<uint64_t>(*bytes))
             : NotA("a size", text, "a number of bytes, such as 64M or 1G");
}

}  // namespace ptrace_prof
