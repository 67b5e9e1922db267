// Turns the records of one traced thread into the begins and ends of its calls: strictly nested, with times that never
// decrease, whatever the records say.
//
//   not started ──Start(snapshot)──► running ◄──LOST_END── in a gap ──Finish──► finished
//                                       └────────LOST────────►┘
//
// The stack starts as the arming stop found it. The first event of the thread is compared with that snapshot, because
// the stop may fall between a frame's beginning and its event, or between the event of its end and the end itself. The
// event's frame is used if it is known. By its code alone, a frame that never reports its beginning (it began before
// events were switched on) looks like its own recursive call. An end that fits no open call is counted and left out;
// one that fits an outer call first ends the inner ones.
//
// A gap (LOST … LOST_END) says how deep the stack went down in it and up again. Calls that ended in the gap are shown
// until it begins. Calls that began in it have no name and are not shown. The others continue. A gap without lost
// events is time for which the thread waited.
//
// A call that a filter leaves out is tracked like any other, so that its callees nest, but it has no slice. C functions
// that it calls are left out with it. From some moment on the target may report nothing about such calls; the open ones
// then end with their caller, invisibly.
//
// A thread may have several stacks (greenlets), distinguished by their outermost frames. At a switch the open slices of
// the old stack end as suspended, and those of the new one begin again. So each stretch of a greenlet nests by itself,
// and the outermost slices of one greenlet share a GeneratorId.
//
// A generator or coroutine has a slice for each stretch in which it runs, all with one GeneratorId. Records are
// hostile: everything is bounded, nothing asserts. Owned by the collector's drain loop; one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "attach/abi/channel.h"
#include "attach/abi/record.h"
#include "attach/base/types.h"
#include "daemon/collector/calls/call_budget.h"
#include "daemon/collector/calls/call_names.h"
#include "daemon/collector/calls/call_sink.h"
#include "daemon/collector/calls/extended_record.h"
#include "daemon/collector/calls/generator_ids.h"
#include "daemon/collector/calls/step_calls.h"
#include "daemon/collector/calls/tick_map.h"

namespace ptrace_prof {

// One frame of a thread at the arming stop.
struct SnapshotFrame {
  RemoteAddr code;
  RemoteAddr address;         // address of the frame; null: not known
  RemoteAddr self;            // the called nn.Module, or the optimizer; null: none
  bool at_beginning = false;  // at the place where its START or RESUME is reported
  bool is_ours = false;       // of Python source that loaded our stub: not shown
};

struct ThreadSnapshot {
  uint64_t when = 0;                  // ticks of the target's clock, as in records
  std::vector<SnapshotFrame> frames;  // root first
  // The last event of the thread while it was unarmed; PP_TAG_NONE: none. Pending: its record is still to come.
  RemoteAddr unarmed_frame;
  uint32_t unarmed_tag = PP_TAG_NONE;
  bool unarmed_pending = false;

  // `word`: pp_ring.last_unarmed during the stop.
  void SetUnarmed(uint64_t word) {
    unarmed_frame = RemoteAddr(PP_UNARMED_FRAME(word));
    unarmed_tag = static_cast<uint32_t>(PP_UNARMED_TAG(word));
    unarmed_pending = (word & PP_UNARMED_PENDING) != 0;
  }
};

// Whether a thread can have had so many events in that time. The target reports the number, and an impossible one is
// ignored. The margin covers short times and errors of clocks.
constexpr bool CanHaveHappened(uint64_t events, Nanos time) {
  return events <= 1000 + 2 * static_cast<uint64_t>(std::max<int64_t>(time.value, 0));
}

// Summed over the threads of a process.
struct CallCounts {
  uint64_t events = 0;            // begins and ends
  uint64_t lost = 0;              // events
  uint64_t gaps = 0;              // gaps with lost events
  uint64_t unmatched_ends = 0;    // fit no open call: left out
  uint64_t implied_ends = 0;      // ends of calls whose caller ended
  uint64_t ends_of_excluded = 0;  // of functions that a filter leaves out
  uint64_t nameless = 0;          // calls without an available name
  uint64_t too_deep = 0;          // calls beyond the stored depth
  uint64_t reconciled = 0;        // events that only repeated the snapshot
  uint64_t strange = 0;           // invalid records
  uint64_t unknown = 0;           // extended records of unknown kinds
};

// Shared by the replayers of one process.
struct CallContext {
  CallNames& names;
  GeneratorIds generators;
  CallCounts counts;
  StepCalls steps;
  size_t open_calls = 0;  // of all threads
  CallBudget* budget = nullptr;
};

class CallReplayer {
 public:
  // Both must outlive the replayer. Earlier times are set to `begin`.
  CallReplayer(CallContext& context, CallSink& sink, Nanos begin);
  ~CallReplayer();
  CallReplayer(const CallReplayer&) = delete;
  CallReplayer& operator=(const CallReplayer&) = delete;

  // The frames that already ran. Call it first, or not at all for a thread that began later.
  void Start(const ThreadSnapshot& snapshot);
  // The innermost frame at the first event; null: not known. Call it before that event is fed.
  void SetFirstFrame(RemoteAddr frame) { first_frame_ = frame; }
  // The next records of the thread, in pieces of any size. Later times are set to `now`.
  void Feed(std::span<const pp_record> records, const TickMap& ticks, Nanos now);
  // The fed records end with a complete event, so the last one is not extended any more.
  void EndOfEvent() {
    Settle();
    pending_ = {};
    context_.counts.strange += extended_.Drop() ? 1 : 0;
  }
  // No more records will come: open calls are cut.
  void Finish(Nanos when);

  size_t depth() const { return stack_.size(); }
  bool HasOpen(RemoteAddr code) const;

 private:
  enum class Kind : uint8_t { kPython, kC, kUnknown };
  struct Call {
    uint64_t identity = 0;  // code object or callable
    uint64_t address = 0;   // address of the frame, if known
    GeneratorId generator;
    FrameId function;
    Kind kind = Kind::kPython;
    LeftOutBy left_out = kShown;
    bool shown = true;          // has an open slice
    bool called = false;        // has called something in Python
    bool c_call_known = false;  // false: it may be running a C function whose call was not recorded
  };
  // A record together with the fields from the records after it.
  struct Pending {
    uint64_t when_tag = PP_TAG_NONE;
    uint64_t value = 0;
    uint64_t frame = 0;
    uint64_t self = 0;
    uint64_t method = 0;
    uint64_t caller = 0;
  };

  size_t BeginExtended(const pp_record& head, std::span<const pp_record> next);
  size_t TakeExtended(std::span<const pp_record> next);
  void Settle();
  void SettleBegin(uint32_t tag, Nanos when);
  void SettleEnd(uint32_t tag, Nanos when);
  CalledName NameOf(RemoteAddr code, RemoteAddr self, uint64_t when);
  void OnStep(CallExit exit, Nanos when);
  bool Adopt(uint32_t tag);
  RemoteAddr FrameOfFirst() const;
  void DropReturned(Nanos when);
  void DropAbove(RemoteAddr frame, Nanos when);
  void BeginC(Nanos when);
  LeftOutBy LeftOutWithCaller();
  void EndC(uint32_t tag, Nanos when);
  void BeginGap(Nanos when);
  void SettleSwitch(Nanos when);
  void Park(Nanos when);
  void TakeUp(uint64_t root, bool is_new, Nanos when);
  void Resync(CallEntry entry, Nanos when);
  void ForgetStacks();
  void DropParked();
  GeneratorId NameStack();
  void EndStack();
  void EndGap(Nanos when, int32_t net, int32_t lowest);
  void AddUnknown(uint64_t calls);
  void ShowGap(Nanos when);
  void JudgeGap(Nanos when);
  void Push(Call call, CallEntry entry, Nanos when);
  void PushNamed(Call call, CalledName name, CallEntry entry, Nanos when);
  void Pop(CallExit exit, Nanos when);
  bool PopTo(uint64_t identity, Kind kind, CallExit exit, Nanos when);
  Nanos At(uint64_t when_tag);

  CallContext& context_;
  CallSink& sink_;
  TickMap ticks_;
  Nanos now_;
  Nanos last_;
  Pending pending_;
  ExtendedRecord extended_;
  std::vector<Call> stack_;
  uint64_t root_ = 0;                                       // which stack this is; 0: not known
  std::unordered_map<uint64_t, std::vector<Call>> parked_;  // the other stacks that are not empty
  std::vector<uint64_t> below_;                             // reported frames of the stack that is switched to
  std::optional<Nanos> left_;                               // when the stack was left, if nothing was reported since
  bool follows_ = false;                                    // the target reports which stack this is
  bool has_switched_ = false;
  bool is_doubtful_ = false;  // events were lost: the frames of the stack will be reported again
  uint64_t overflow_ = 0;     // calls above stack_ that are not stored
  bool in_gap_ = false;
  Nanos gap_from_;
  uint64_t gap_events_ = 0;
  RemoteAddr optimizer_;  // the last to report its step
  RemoteAddr first_frame_;
  bool is_first_ = true;         // the snapshot's top was not compared yet
  bool top_may_report_ = false;  // a first START or RESUME would be that of the snapshot's top
};

}  // namespace ptrace_prof
