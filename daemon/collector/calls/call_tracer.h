// Traces the calls of one process: brings the stub in, arms it, drains its rings into the trace, takes it off again.
//
//   Open ──► Install ──► Arm ──► Drain… ──► Leave ──► Drain… ──► Finish
//
// Open reads and may refuse. Install puts a stub in place that records nothing. Arm stops all threads once and copies
// every stack; from then on the rings hold what the threads do. Leave takes the hooks off: at the target's next event,
// or by a queued call if the target runs no Python code. If this object goes away without Leave, the stub's lease ends
// and it leaves by itself. Owned by CallSource; one thread, the one that may trace.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/injection.h"
#include "attach/proc/anchored_memory.h"
#include "attach/proc/process_memory.h"
#include "daemon/collector/calls/arming_stop.h"
#include "daemon/collector/calls/brief_call_filter.h"
#include "daemon/collector/calls/call_budget.h"
#include "daemon/collector/calls/call_filter.h"
#include "daemon/collector/calls/call_names.h"
#include "daemon/collector/calls/call_replayer.h"
#include "daemon/collector/calls/history_sink.h"
#include "daemon/collector/calls/landmarks.h"
#include "daemon/collector/calls/step_gate.h"
#include "daemon/collector/calls/step_marker.h"
#include "daemon/collector/calls/target_objects.h"
#include "daemon/collector/calls/tick_clock.h"
#include "daemon/collector/calls/trace_call_sink.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/opened_process.h"
#include "daemon/collector/target/thread_roster.h"
#include "daemon/collector/target/thread_table.h"

namespace ptrace_prof {

class CallTracer {
 public:
  // Errors as PythonProcess::Open.
  static Result<std::unique_ptr<CallTracer>> Open(Pid pid, const CaptureContext& context);
  ~CallTracer();

  // Brings the stub in and writes the process to the trace. `go_on` is asked while the target does not take it up.
  // Errors as DescribeForInjection and Inject.
  Result<void> Install(const std::function<bool()>& go_on);

  Result<void> Arm();
  // Reads the rings; returns the number of records. Call it every few milliseconds: it also keeps the stub alive. If
  // threads wait for room, each ring is read only in part, so that the others get their turn.
  size_t Drain();
  // At the last look a ring was at least half full.
  bool is_behind() const { return is_behind_; }
  // The last Drain left records unread that were there when it began.
  bool leaves_records() const { return is_behind_ && takes_turns_; }
  // Asks the stub to leave, and drains until it has left or `patience` is over. After that it leaves when the target
  // runs Python code again.
  void Leave(Nanos patience);
  void Finish(Nanos when);

  bool HasEnded() { return process_.HasExited() || HasExeced(); }
  bool HasExeced() { return !space_.IsInPlace(); }
  bool has_left() const { return injection_->channel.state() == ChannelState::kLeft; }
  // Events lost so far because no buffer had room.
  uint64_t lost_events();
  StepMarker& steps() { return steps_; }
  // Looks for interpreters beside the main one, whose calls are not traced. Returns how many were seen so far.
  size_t CountOtherInterpreters();
  Error LeaveReason() const { return injection_->channel.Reason(); }
  const OpenedProcess& process() const { return process_; }
  const Layout& layout() const { return process_.python.layout; }
  RemoteMemory& memory() { return space_; }
  ThreadRoster& roster() { return roster_; }
  void CountInto(Accounting& accounting) const;

 private:
  // A thread state and the kernel thread that ran it when its ring was claimed.
  struct TracedThread {
    TracedThread(const CaptureContext& context, ThreadHandle handle, CallContext& calls, StepMarker& steps, Nanos begin)
        : sink(context.writer, handle, &steps),
          filter(sink, LeastOf(context)),
          gate(steps, Ungated(LeastOf(context))),
          history(Target(steps, LeastOf(context)), context.stacks, context.history, handle),
          replayer(calls, context.history != nullptr ? history : Target(steps, LeastOf(context)), begin) {}
    static Nanos LeastOf(const CaptureContext& context) {
      return ToNanos(context.request.spec().trace().min_duration());
    }
    CallSink& Ungated(Nanos least) { return least.value > 0 ? static_cast<CallSink&>(filter) : sink; }
    CallSink& Target(const StepMarker& steps, Nanos least) {
      return steps.has_plan() ? static_cast<CallSink&>(gate) : Ungated(least);
    }
    TraceCallSink sink;
    BriefCallFilter filter;
    StepGate gate;
    HistorySink history;
    CallReplayer replayer;
    bool finished = false;
  };
  struct Ring {
    RemoteAddr thread_state;  // of the thread that uses it now; null: none
    Tid tid;
    TracedThread* thread = nullptr;
  };

  CallTracer(OpenedProcess process, const CaptureContext& context);
  Result<void> BringIn(const std::function<bool()>& go_on);
  Result<void> TryToBringIn(const std::function<bool()>& go_on);
  ChannelShape Shape() const;
  void AddSnapshot(const ThreadAtArming& at, const std::vector<RingFacts>& rings);
  ThreadTrack* TrackOf(const ThreadEntry& entry);
  ThreadHandle AddUnseen(Tid tid);
  SnapshotFrame DescribeFrame(const RawFrame& frame);
  TracedThread* ThreadOf(const RingFacts& facts);
  void TakeTenant(Ring& ring, const RingFacts& facts);
  void OnLandmark(Landmark landmark, RemoteAddr code);
  void FindModuleCalls();
  void LeaveOut(RemoteAddr code, LeftOutBy by);
  bool Mute(RemoteAddr code, MutedEvents events);
  CallBudget::World BudgetWorld();
  Result<void> CheckBudget();
  double EventCost(double ticks) const;
  void CountWhatItReports(Accounting& accounting) const;
  size_t DrainRing(size_t index, uint64_t waiting, Nanos now);
  size_t RingOfSteps() const;
  void CloseGap(size_t index);
  void RenewLease(Nanos lease);

  const OpenedProcess process_;
  const Pid pid_;
  const CaptureContext context_;
  ProcessMemory memory_;
  AnchoredMemory space_{memory_};  // refuses to read names in another program
  InterpreterWatch watch_;
  ThreadRoster roster_;
  TickClock clock_{FitTickSource()};
  CodeCache codes_;
  TargetObjects objects_;
  Landmarks landmarks_;
  CallFilter filter_;
  CallBudget budget_;
  CallNames names_;
  CallContext calls_;
  StepMarker steps_;
  std::optional<size_t> step_ring_;  // index of the ring whose thread takes the steps
  std::vector<RemoteAddr> module_codes_;
  RemoteWriter remote_;
  InjectionTarget target_;
  std::optional<Injection> injection_;
  Nanos begin_;
  uint64_t armed_at_ = 0;  // ticks
  RemoteAddr own_text_;    // as Channel::own_text, then
  Nanos arming_stop_;
  std::vector<Ring> rings_;
  ThreadTable<TracedThread> threads_;
  std::set<int64_t> other_interpreters_;  // ids
  std::vector<pp_record> records_;
  std::vector<uint64_t> waiting_;  // by ring: records to read in this drain
  bool takes_turns_ = false;
  bool is_behind_ = false;
};

}  // namespace ptrace_prof
