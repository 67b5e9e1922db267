#include "daemon/policy/amount_text.h"

#include <charconv>
#include <iterator>

namespace ptrace_prof {
namespace {

constexpr double kLongestSeconds = 366.0 * 24 * 3600;
constexpr double kMostBytes = 0x1p60;

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kTimes[] = {{"", 1}, {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 24 * 3600}};
constexpr Unit kSizes[] = {{"", 1},         {"B", 1},       {"KB", 0x1p10},  {"KiB", 0x1p10}, {"MB", 0x1p20},
                           {"MiB", 0x1p20}, {"GB", 0x1p30}, {"GiB", 0x1p30}, {"TB", 0x1p40},  {"TiB", 0x1p40}};

constexpr Unit kShares[] = {{"%", 0.01}};

template <size_t N>
std::optional<double> Parse(std::string_view text, const Unit (&units)[N]) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number > 0)) {
    return std::nullopt;
  }
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
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

}  // namespace

std::optional<Nanos> ParseDuration(std::string_view text) {
  const auto seconds = Parse(text, kTimes);
  return seconds.has_value() && *seconds <= kLongestSeconds ? std::optional(Nanos::FromSeconds(*seconds))
                                                            : std::nullopt;
}

std::optional<uint64_t> ParseSize(std::string_view text) {
  const auto bytes = Parse(text, kSizes);
  return bytes.has_value() && *bytes >= 1 && *bytes <= kMostBytes ? std::optional(static_cast<uint64_t>(*bytes))
                                                                  : std::nullopt;
}

std::optional<double> ParseShare(std::string_view text) {
  const auto share = Parse(text, kShares);
  return share.has_value() && *share <= 1 ? share : std::nullopt;
}

}  // namespace ptrace_prof
