// Detects that kernels are launched but CUPTI reports none, or none any more. CUPTI's tracing can be dead for the life
// of a process, and an empty trace would look like an idle GPU.
//
// A kernel may take long, and launches on a stream that has been captured since before the recording never run. So a
// launch proves something only once its own thread has waited for the GPU since: that is impossible while its kernel
// runs or its stream is captured. If no thread waits, it takes longer and stays a guess. Any kernel or graph record,
// whatever its times, ends a silence, and launches must continue during one. Bounded. One per target; one thread.
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
    kLikely,  // launches continue, but no thread was seen to wait for them
    kCertain,
  };

  // Call in the order of time, for a launch of a kernel, or of a graph. A graph without kernels would produce no record
  // either.
  void Launched(uint32_t thread, Nanos begin);
  // A thread successfully waited for the GPU.
  void Waited(uint32_t thread, Nanos begin, Nanos end);
  // Something came, or there is another explanation: earlier launches prove nothing any more.
  void EndAt(Nanos when) { heard_ = std::max(heard_, when); }

  State At(Nanos now) const;
  // For the end of a recording in which nothing came at all: it takes no longer than with a wait, and stays a guess.
  State AtEndOfNothing(Nanos now) const;
  Nanos heard() const { return heard_; }  // time of the last record

 private:
  bool IsOpen(Nanos when) const { return when > heard_; }

  std::unordered_map<uint32_t, Nanos> first_;  // first launch of each thread since `heard_`
  Nanos heard_;
  Nanos run_;     // first launch since `heard_`
  Nanos last_;    // last launch since `heard_`
  Nanos proven_;  // when a thread's earlier launches must have run
  Nanos after_;   // a launch some time after that
};

}  // namespace ptrace_prof
