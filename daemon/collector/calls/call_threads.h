// The threads whose calls are traced: each with what turns its records into calls of the trace.
//
// A thread is known from its stack at arming, or from the first ring that it claims. Owned by CallTracer; one thread.
#pragma once

#include <memory>
#include <vector>

#include "attach/base/types.h"
#include "attach/inject/ring_reader.h"
#include "daemon/collector/calls/arming_stop.h"
#include "daemon/collector/calls/brief_call_filter.h"
#include "daemon/collector/calls/call_replayer.h"
#include "daemon/collector/calls/history_sink.h"
#include "daemon/collector/calls/step_gate.h"
#include "daemon/collector/calls/step_marker.h"
#include "daemon/collector/calls/trace_call_sink.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/thread_roster.h"
#include "daemon/collector/target/thread_table.h"

namespace ptrace_prof {

// A thread state and the kernel thread that ran it when its ring was claimed.
struct CallThread {
  CallThread(const CaptureContext& context, ThreadHandle handle, CallContext& calls, StepMarker& steps, Nanos begin)
      : sink(context.writer, handle, &steps),
        filter(sink, LeastOf(context)),
        gate(steps, Ungated(LeastOf(context))),
        history(Target(steps, LeastOf(context)), context.stacks, context.history, handle),
        replayer(calls, context.history != nullptr ? history : Target(steps, LeastOf(context)), begin) {}
  static Nanos LeastOf(const CaptureContext& context) { return ToNanos(context.request.spec().trace().min_duration()); }
  CallSink& Ungated(Nanos least) { return least.value > 0 ? static_cast<CallSink&>(filter) : sink; }
  CallSink& Target(const StepMarker& steps, Nanos least) {
    return steps.has_plan() ? static_cast<CallSink&>(gate) : Ungated(least);
  }
  void Finish(Nanos when) {
    if (!finished) {
      replayer.Finish(when);
      finished = true;
    }
  }
  TraceCallSink sink;
  BriefCallFilter filter;
  StepGate gate;
  HistorySink history;
  CallReplayer replayer;
  bool finished = false;
};

// The instant at which all stacks stood still.
struct ArmingInstant {
  Nanos time;
  uint64_t ticks = 0;
  RemoteAddr own_text;           // as Channel::own_text, then
  std::vector<RingFacts> rings;  // as they were then
};

class CallThreads {
 public:
  // All outlive this object.
  struct Parts {
    Pid pid;
    const Layout& layout;
    ThreadRoster& roster;
    InterpreterWatch& watch;
    CodeCache& codes;
    CallContext& calls;
    StepMarker& steps;
  };

  CallThreads(const CaptureContext& context, const Parts& parts) : context_(context), parts_(parts) {}

  // With the stacks of that instant, which become the open calls of each thread.
  void Begin(ArmingInstant instant, const std::vector<ThreadAtArming>& threads);
  // The thread that a ring belongs to. It lives as long as this object.
  CallThread* Of(const RingFacts& facts);
  bool HasOpen(RemoteAddr code) const;  // on the stack of some thread
  void Finish(Nanos when);
  void CountInto(Accounting& accounting) const;

 private:
  ThreadTrack* TrackOf(const ThreadEntry& entry);
  ThreadHandle AddUnseen(Tid tid);
  SnapshotFrame DescribeFrame(const RawFrame& frame);
  void AddSnapshot(const ThreadAtArming& at);
  std::unique_ptr<CallThread> Make(ThreadHandle handle) {
    return std::make_unique<CallThread>(context_, handle, parts_.calls, parts_.steps, instant_.time);
  }

  const CaptureContext context_;
  const Parts parts_;
  ArmingInstant instant_;
  ThreadTable<CallThread> threads_;
};

}  // namespace ptrace_prof
