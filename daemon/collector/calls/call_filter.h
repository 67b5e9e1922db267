// Which functions of a traced target are left out of its trace: those that an --exclude matches, and where there are
// --filters, those that none of them matches.
//
// A pattern stands for a function's qualified name ("Trainer.step"; before CPython 3.11 code knows its bare name
// alone), its module ("torch.nn.modules.linear"), both together ("torch.nn.modules.linear.Linear.forward") or its file;
// of a path, any number of leading folders may be missing ("modules.linear", "linear.py"). What is not Python code has
// no module: it is weighed by its name and --exclude alone, and goes where its caller goes.
//
// Counts what each pattern did. Asked when a function gets its name, that is rarely. One per traced process; one
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

// What leaves a function out: a number that belongs to one CallFilter.
using LeftOutBy = StrongId<struct LeftOutByTag, uint16_t>;
inline constexpr LeftOutBy kShown{0};
inline constexpr LeftOutBy kNoCall{UINT16_MAX};      // not a call of its own; not counted
inline constexpr LeftOutBy kOurOwn{UINT16_MAX - 1};  // what we have the target do, and what that calls; not counted

class CallFilter {
 public:
  // Patterns that make no sense are dropped: CheckSpec has refused them.
  explicit CallFilter(const v1::TraceOptions& options);

  bool IsInUse() const { return !filters_.empty() || !excludes_.empty(); }
  LeftOutBy Weigh(const Frame& function);
  void CountCall(LeftOutBy by);
  void NoteSwitchedOff(LeftOutBy by);

  // One for each pattern, and one for what no --filter matched.
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
  std::unordered_set<uint64_t> noted_;  // functions, by their names: code is made anew now and then
};

}  // namespace ptrace_prof
