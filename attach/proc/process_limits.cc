#include "attach/proc/process_limits.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace ptrace_prof {

// "Max file size             16384                unlimited            bytes"
std::optional<uint64_t> ParseSoftLimit(std::string_view limits, std::string_view name) {
  while (!limits.empty()) {
    const size_t end = std::min(limits.find('\n'), limits.size());
    std::string_view line = limits.substr(0, end);
    limits.remove_prefix(std::min(end + 1, limits.size()));
    if (!line.starts_with(name)) {
      continue;
    }
    line.remove_prefix(name.size());
    const size_t begin = line.find_first_not_of(' ');
    if (begin == 0 || begin == std::string_view::npos) {
      continue;  // a longer name, or no value
    }
    line.remove_prefix(begin);
    if (line.starts_with("unlimited")) {
      return UINT64_MAX;
    }
    uint64_t limit = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), limit);
    return parsed.ec == std::errc() ? std::optional(limit) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace ptrace_prof
