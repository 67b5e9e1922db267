// A stretch of time in which one thread was seen with one stack: the input of all exporters.
//
// Equal neighbouring samples are one span. A sample stands for the time until the next one of its thread. If the next
// one is far away (an idle thread is not sampled), it stands for one sampling interval, and a gap follows.
// If calls were traced exactly, a span is the time between two events of a thread. `samples` is 1 if a call (or a
// generator's next stretch) begins with it, and 0 if an earlier one continues; its weight is its time.
#pragma once

#include <cstdint>

#include "attach/base/types.h"
#include "daemon/trace/model.h"
#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {

struct Span {
  TrackId track;
  Nanos start;
  Nanos end;
  StackId stack;
  uint32_t samples = 0;
  SampleQuality quality = SampleQuality::kSeen;
  ThreadState state = ThreadState::kUnknown;
  CallEntry entry = CallEntry::kCall;  // of the call that begins
  bool ends = false;                   // the call on top ends with this span
  CallExit exit = CallExit::kReturn;   // how it ends
};

class SpanSink {
 public:
  virtual ~SpanSink() = default;
  // Spans of one thread come in order of time and do not overlap.
  virtual void OnSpan(const Span& span) = 0;
  // Each sample that spans are made of.
  virtual void OnSample(TrackId, Nanos /*when*/, StackId) {}
};

}  // namespace ptrace_prof
