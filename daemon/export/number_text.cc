#include "daemon/export/number_text.h"

#include <fmt/format.h>

#include <string_view>

namespace ptrace_prof {

std::string WithCommas(uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) {
      text.push_back(',');
    }
    text.push_back(digits[i]);
  }
  return text;
}

std::string DurationText(Nanos duration) {
  const double seconds = duration.seconds();
  if (seconds < 1e-3) {
    return fmt::format("{:.0f} µs", seconds * 1e6);
  }
  if (seconds < 1) {
    return fmt::format("{:.1f} ms", seconds * 1e3);
  }
  if (seconds < 120) {
    return fmt::format("{:.2f} s", seconds);
  }
  const auto whole = static_cast<uint64_t>(seconds);
  return whole < 3600 ? fmt::format("{} min {} s", whole / 60, whole % 60)
                      : fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string PercentText(uint64_t part, uint64_t whole) {
  if (part == 0 || whole == 0) {
    return "0 %";
  }
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  if (part < whole && percent >= 99.995) {
    return "99.99 %";  // must not round up to 100 %
  }
  return percent < 0.01 ? "<0.01 %" : part == whole ? "100 %" : fmt::format("{:.2f} %", percent);
}

std::string BytesText(int64_t bytes) {
  struct Unit {
    int64_t bytes;
    std::string_view name;
  };
  for (const Unit& unit : {Unit{int64_t{1} << 30, "GB"}, Unit{int64_t{1} << 20, "MB"}, Unit{int64_t{1} << 10, "KB"}}) {
    if (bytes >= unit.bytes || -bytes >= unit.bytes) {
      return fmt::format("{:.2f} {}", static_cast<double>(bytes) / static_cast<double>(unit.bytes), unit.name);
    }
  }
  return fmt::format("{} B", bytes);
}

}  // namespace ptrace_prof
