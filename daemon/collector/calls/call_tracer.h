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
#include "daemon/collector/calls/call_budget.h"
#include "daemon/collector/calls/call_filter.h"
#include "daemon/collector/calls/call_names.h"
#include "daemon/collector/calls/call_replayer.h"
#include "daemon/collector/calls/call_threads.h"
#include "daemon/collector/calls/landmarks.h"
#include "daemon/collector/calls/step_marker.h"
#include "daemon/collector/calls/target_objects.h"
#include "daemon/collector/calls/tracer_stub.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/opened_process.h"
#include "daemon/collector/target/thread_roster.h"

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
  bool HasExeced() { return stub_.HasExeced(); }
  bool has_left() const { return stub_.has_left(); }
  // Events lost so far because no buffer had room.
  uint64_t lost_events() const { return calls_.counts.lost + stub_.LostEvents(begin_); }
  StepMarker& steps() { return steps_; }
  // Looks for interpreters beside the main one, whose calls are not traced. Returns how many were seen so far.
  size_t CountOtherInterpreters();
  Error LeaveReason() const { return stub_.channel().Reason(); }
  const OpenedProcess& process() const { return process_; }
  const Layout& layout() const { return process_.python.layout; }
  RemoteMemory& memory() { return stub_.space(); }
  ThreadRoster& roster() { return roster_; }
  void CountInto(Accounting& accounting) const;

 private:
  struct Ring {
    RemoteAddr thread_state;  // of the thread that uses it now; null: none
    Tid tid;
    CallThread* thread = nullptr;
  };

  CallTracer(OpenedProcess process, const CaptureContext& context);
  void TakeTenant(Ring& ring, const RingFacts& facts);
  void OnLandmark(Landmark landmark, RemoteAddr code);
  void FindLandmarks();
  void WantSelf(RemoteAddr code);
  void LeaveOut(RemoteAddr code, LeftOutBy by);
  bool Mute(RemoteAddr code, MutedEvents events);
  CallBudget::World BudgetWorld();
  Result<void> CheckBudget();
  size_t DrainRing(size_t index, uint64_t waiting, Nanos now);
  size_t RingOfSteps() const;
  void CloseGap(size_t index);

  const OpenedProcess process_;
  const Pid pid_;
  const CaptureContext context_;
  TracerStub stub_;
  InterpreterWatch watch_;
  ThreadRoster roster_;
  CodeCache codes_;
  TargetObjects objects_;
  Landmarks landmarks_;
  CallFilter filter_;
  CallBudget budget_;
  CallNames names_;
  CallContext calls_;
  StepMarker steps_;
  std::optional<size_t> step_ring_;     // index of the ring whose thread takes the steps
  std::vector<RemoteAddr> self_codes_;  // whose first local is wanted
  bool knows_module_call_ = false;
  Nanos begin_;
  Nanos arming_stop_;
  std::vector<Ring> rings_;
  CallThreads threads_;
  std::set<int64_t> other_interpreters_;  // ids
  std::vector<pp_record> records_;
  std::vector<uint64_t> waiting_;  // by ring: records to read in this drain
  bool takes_turns_ = false;
  bool is_behind_ = false;
};

}  // namespace ptrace_prof
