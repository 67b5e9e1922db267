// Whether kernels are launched and CUPTI tells of none, or of none any more: its tracing can be dead for the life of a
// process, and an empty trace would look like an idle GPU.
//
// A kernel may take long, and what is launched on a stream that has been being captured since before anything was
// recorded never runs. So a launch proves something only once its own thread has waited for the GPU since, which it
// could neither have done while its kernel runs nor while its stream is captured; where no thread waits, it takes
// longer, and stays a guess. A kernel or a graph that comes, whatever its times, ends a silence, and launches must go
// on in one. Bounded. One per target; one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "attach/base/types.h"

namespace ptrace_prof {

class GpuSilence {
 public:
  enum class State : uint8_t {
    kNone,
    kLikely,  // launches go on, and nobody was seen to wait for what they launch
    kCertain,
  };

  // In the order of time. Of kernels that are to come, or of graphs: of one that has none, nothing would come either.
  void Launched(uint32_t thread, Nanos begin);
  // Successfully, for something that the GPU does.
  void Waited(uint32_t thread, Nanos begin, Nanos end);
  // Something came, or may be explained: what was launched until then owes nothing.
  void EndAt(Nanos when) { heard_ = std::max(heard_, when); }

  State At(Nanos now) const;
  // Of a recording in which nothing came at all, at its end: then it takes no longer than with a wait, and stays a
  // guess.
  State AtEndOfNothing(Nanos now) const;
  Nanos heard() const { return heard_; }  // of the last thing

 private:
  bool IsOpen(Nanos when) const { return when > heard_; }

  std::unordered_map<uint32_t, Nanos> first_;  // launch of each thread since `heard_`; earlier ones say nothing
  Nanos heard_;
  Nanos run_;     // the first launch since `heard_`
  Nanos last_;    // and the last one
  Nanos proven_;  // when what a thread had launched before must have run
  Nanos after_;   // a launch that was some time later
};

}  // namespace ptrace_prof
