// The receiver of a thread's calls, which CallReplayer reports. Filters may stand between it and the trace.
//
// Strictly nested, ordered by time. Owned by the collector's drain loop; one per traced thread; one thread.
#pragma once

#include <cstdint>

#include "attach/base/types.h"
#include "daemon/trace/call.h"
#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

class CallSink {
 public:
  virtual ~CallSink() = default;
  virtual void Begin(Nanos when, FrameId function, CallEntry entry, GeneratorId generator) = 0;
  virtual void End(Nanos when, CallExit exit) = 0;  // of the innermost open call
  // Within the innermost open call. `events` 0: nothing was lost, the thread waited for room.
  virtual void Lost(Nanos from, Nanos to, uint64_t events) = 0;
  // The call that just ended was one of the step function (CallContext).
  virtual void StepEnded(Nanos /*when*/) {}
};

// Passes everything on to another sink, which must outlive it. Filters override what they need.
class ForwardingSink : public CallSink {
 public:
  explicit ForwardingSink(CallSink& next) : next_(next) {}
  void Begin(Nanos when, FrameId function, CallEntry entry, GeneratorId generator) override {
    next_.Begin(when, function, entry, generator);
  }
  void End(Nanos when, CallExit exit) override { next_.End(when, exit); }
  void Lost(Nanos from, Nanos to, uint64_t events) override { next_.Lost(from, to, events); }
  void StepEnded(Nanos when) override { next_.StepEnded(when); }

 protected:
  CallSink& next_;
};

}  // namespace ptrace_prof
