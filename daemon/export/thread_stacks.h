// The Python stack of a thread at a time, or during a span of time, once the whole trace was read.
//
// Known where calls were traced. From samples it is known only for a span in which one was taken: the same stack before
// and after it says nothing about what ran between. Memory is bounded.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attach/base/types.h"
#include "daemon/export/recording.h"
#include "daemon/export/span.h"
#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

// Between the frames of a stack, the innermost of which is first.
inline constexpr std::string_view kFrameSeparator = " < ";

class ThreadStacks {
 public:
  using Thread = std::pair<int32_t, int32_t>;  // pid and tid: a thread may have several tracks

  explicit ThreadStacks(const Recording& recording) : recording_(recording) {}

  void OnSpan(const Span& span);  // of calls
  void OnSample(TrackId track, Nanos when, StackId stack);
  // At `begin`, or within the span.
  std::optional<StackId> StackOf(TrackId track, Nanos begin, Nanos end) const;
  Thread ThreadOf(TrackId track) const;

 private:
  struct Stretch {
    Nanos begin;
    Nanos end;
    StackId stack;
  };

  const Recording& recording_;
  std::map<Thread, std::vector<Stretch>> stretches_;  // in order of time
};

// "model.py(12): forward", without the folder in which packages are installed.
std::string FrameText(const Frame& frame);

}  // namespace ptrace_prof
