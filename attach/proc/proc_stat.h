// One line of /proc/<pid>/stat (or of a thread), with the fields needed here.
//
// The target chooses the name in it, which may contain spaces and brackets, so the fields start after the last ')'.
// Pure functions.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ptrace_prof {

struct ProcStat {
  char state = '?';
  int32_t ppid = 0;
  uint64_t start_ticks = 0;  // since boot, in 1/sysconf(_SC_CLK_TCK) seconds, as all ticks here
  uint32_t threads = 1;
  uint64_t cpu_ticks = 0;         // used so far, in user and kernel mode
  uint64_t reaped_faults = 0;     // minor faults of children that it has waited for: grows with every one of them
  uint64_t reaped_cpu_ticks = 0;  // CPU time of those children
};

std::optional<ProcStat> ParseProcStat(std::string_view text);
// Only the state letter: all that a sampler needs a thousand times a second. '?' if the line is malformed.
char ParseProcState(std::string_view text);

// Calls `take` with every decimal number of a list separated by blanks; stops at the first item that is not a number.
template <typename Take>
void ForEachNumber(std::string_view text, Take take) {
  for (;;) {
    const size_t start = text.find_first_not_of(" \t\n");
    if (start == std::string_view::npos) {
      return;
    }
    text.remove_prefix(start);
    int64_t number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc()) {
      return;
    }
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    take(number);
  }
}

}  // namespace ptrace_prof
