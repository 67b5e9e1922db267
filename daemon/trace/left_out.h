// What a trace of calls leaves out on request: one item for each pattern of a filter, and for each function that was
// switched off because its calls cost too much.
//
// Part of the Accounting; plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptrace_prof {

enum class LeftOutCause : uint8_t {
  kFilter,       // matched by this --filter, so recorded
  kNotFiltered,  // matched by no --filter
  kExcluded,     // matched by an --exclude
  kOverhead,     // called too often for --max-overhead
};
inline constexpr uint64_t kLeftOutCauses = 4;

struct LeftOut {
  LeftOutCause cause = LeftOutCause::kFilter;
  std::string what;           // the pattern; for kOverhead the function
  uint64_t functions = 0;     // number of called functions that it matched
  uint64_t calls = 0;         // counted calls of these functions
  bool switched_off = false;  // in the process itself: later calls are not counted

  bool operator==(const LeftOut&) const = default;
};

// Sentences about the items worth mentioning; many switched-off functions are summed up.
std::vector<std::string> Sentences(const std::vector<LeftOut>& all);
// For people: "--exclude 'f' left out 2 functions (1,234 calls)". Empty: nothing to say.
std::string Sentence(const LeftOut& left_out);

}  // namespace ptrace_prof
