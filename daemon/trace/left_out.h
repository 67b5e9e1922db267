// What a trace of calls does not hold because it was asked not to: one for each pattern of a filter, and for each
// function that was switched off because its calls cost too much.
//
// Part of the Accounting; pure data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptrace_prof {

enum class LeftOutCause : uint8_t {
  kFilter,       // says what a --filter matched: what is there
  kNotFiltered,  // matched by no --filter
  kExcluded,     // matched by an --exclude
  kOverhead,     // called too often for --max-overhead
};
inline constexpr uint64_t kLeftOutCauses = 4;

struct LeftOut {
  LeftOutCause cause = LeftOutCause::kFilter;
  std::string what;           // the pattern; of kOverhead, the function
  uint64_t functions = 0;     // that it matched and that were called
  uint64_t calls = 0;         // of them that were counted
  bool switched_off = false;  // in the process itself: calls after that are not counted

  bool operator==(const LeftOut&) const = default;
};

// What is worth saying of all of them, with some of the last kind summed up.
std::vector<std::string> Sentences(const std::vector<LeftOut>& all);
// For people: "--exclude 'f' left out 2 functions (1,234 calls)". Empty: nothing to be said.
std::string Sentence(const LeftOut& left_out);

}  // namespace ptrace_prof
