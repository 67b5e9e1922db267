// Decides which functions of a traced target are left out of its trace: those that an --exclude matches, and, with
// --filters, those that no --filter matches.
//
// What a pattern matches: function_names.h. A function that is not Python code has no module:
// it is matched by its name and only against --exclude, and otherwise goes with its caller.
//
// Counts the matches of each pattern. Called once per function, when it gets its name. One per traced process; one
// thread.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "daemon/trace/left_out.h"
#include "daemon/trace/stack_table.h"
#include "rpc/messages/capture_task.h"
#include "rpc/messages/name_glob.h"

namespace ptrace_prof {

// The reason why a function is left out: a number of one CallFilter.
using LeftOutBy = StrongId<struct LeftOutByTag, uint16_t>;
inline constexpr LeftOutBy kShown{0};
inline constexpr LeftOutBy kNoCall{UINT16_MAX};      // not a call of its own; not counted
inline constexpr LeftOutBy kOurOwn{UINT16_MAX - 1};  // our own code in the target, and what it calls; not counted

class CallFilter {
 public:
  // Invalid patterns are dropped; CheckSpec has refused them before.
  explicit CallFilter(const v1::TraceOptions& options);

  bool IsInUse() const { return !filters_.empty() || !excludes_.empty(); }
  LeftOutBy Weigh(const Frame& function);
  void CountCall(LeftOutBy by);
  void NoteSwitchedOff(LeftOutBy by);

  // One per pattern, and one for functions that no --filter matched.
  const std::vector<LeftOut>& rows() const { return rows_; }

 private:
  struct Pattern {
    NameGlob glob;
    LeftOutBy row;
  };

  std::vector<Pattern> Compile(const google::protobuf::RepeatedPtrField<std::string>& globs, LeftOutCause cause);
  void NoteFunction(LeftOutBy by, const Frame& function);
  LeftOut& RowOf(LeftOutBy by) { return rows_[by.value - 1u]; }

  std::vector<LeftOut> rows_;
  std::vector<Pattern> excludes_;
  std::vector<Pattern> filters_;
  LeftOutBy not_filtered_ = kShown;
  std::unordered_set<uint64_t> noted_;  // functions, by their names, because a code object may be created again
};

}  // namespace ptrace_prof
