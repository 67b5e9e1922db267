// Writes the calls of one thread into the trace, and its steps if it is the thread that takes them.
//
// Stands between CallReplayer and TraceWriter, both of which outlive it; one thread.
#pragma once

#include "daemon/collector/calls/call_sink.h"
#include "daemon/collector/calls/step_marker.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

class TraceCallSink final : public CallSink {
 public:
  // `steps` is null if no steps are marked.
  TraceCallSink(TraceWriter& writer, ThreadHandle thread, StepMarker* steps = nullptr)
      : writer_(writer), thread_(thread), steps_(steps) {}

  void Begin(Nanos when, FrameId function, CallEntry entry, GeneratorId generator) override {
    writer_.BeginCall(thread_, when, function, entry, generator);
  }
  void End(Nanos when, CallExit exit) override { writer_.EndCall(thread_, when, exit); }
  void Lost(Nanos from, Nanos to, uint64_t events) override { writer_.AddLostCalls(thread_, from, to, events); }
  void StepEnded(Nanos when) override {
    if (steps_ == nullptr) {
      return;
    }
    steps_->OnStepEnd(when);
    if (const auto before = steps_->MarkOn(thread_)) {
      writer_.EndStep(*before, when);
    }
    if (steps_->is_recording() && !steps_->is_over()) {
      writer_.BeginStep(thread_, when, *steps_->step());
    } else {
      writer_.EndStep(thread_, when);
    }
  }

 private:
  TraceWriter& writer_;
  const ThreadHandle thread_;
  StepMarker* steps_;
};

}  // namespace ptrace_prof
