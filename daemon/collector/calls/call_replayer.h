// Turns the records of one traced thread into the begins and ends of its calls: strictly nested, times never going
// back, whatever the records say.
//
//   not started ──Start(snapshot)──► running ◄──LOST_END── in a gap ──Finish──► finished
//                                       └────────LOST────────►┘
//
// The stack starts as the arming stop found it. The first event of the thread is weighed against that snapshot: the
// stop may fall between a frame's beginning and the event that tells of it, or between the event of its end and the
// end itself. Which frame that event is about is told where it is known: by its code alone, a frame that never tells of
// its beginning (it had begun before events were switched on) looks like its own recursive call. An end that fits no
// open call is counted and left out; one that fits a call further out ends those above it first. A gap (LOST …
// LOST_END) says how far the stack went down in it and how far up again: calls that ended in it are shown until it
// begins, calls that began in it have no name and are not shown, the rest goes on. A gap in
// which nothing was lost is time for which the thread was held back.
//
// A call that a filter leaves out is kept track of as any other, so that what is in it nests, and has no slice. What is
// not Python code and was called by such a one is left out with it. From some moment on, nothing may be told of such
// calls any more: those that were open then end with their caller, which nobody sees.
//
// A thread may have several stacks (greenlets), told apart by their outermost frames. At a switch the open slices of
// the one that is left end as suspended, and those of the one that goes on begin anew: each stretch of a greenlet nests
// by itself, and the outermost slices of one greenlet have one GeneratorId.
//
// A generator or coroutine is a slice for each stretch in which it runs, all with one GeneratorId.
// Records are hostile: everything is bounded, nothing asserts. Owned by the collector's drain loop; one thread.
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
#include "daemon/collector/calls/tick_map.h"

namespace ptrace_prof {

// One frame of a thread at the arming stop.
struct SnapshotFrame {
  RemoteAddr code;
  RemoteAddr address;         // of the frame itself; null = not known
  RemoteAddr self;            // the nn.Module that is called; null = none
  bool at_beginning = false;  // it stands where its START or RESUME is told of
  bool is_ours = false;       // of a text by which we came in: not shown
};

struct ThreadSnapshot {
  uint64_t when = 0;                  // ticks of the target's clock, as in records
  std::vector<SnapshotFrame> frames;  // root first
  // The last event of the thread while it was unarmed; PP_TAG_NONE = none. Pending: a record of it comes.
  RemoteAddr unarmed_frame;
  uint32_t unarmed_tag = PP_TAG_NONE;
  bool unarmed_pending = false;

  // From pp_ring.last_unarmed, as it was during the stop.
  void SetUnarmed(uint64_t word) {
    unarmed_frame = RemoteAddr(PP_UNARMED_FRAME(word));
    unarmed_tag = static_cast<uint32_t>(PP_UNARMED_TAG(word));
    unarmed_pending = (word & PP_UNARMED_PENDING) != 0;
  }
};

// The target counts; of more events of one thread than there was time for, nothing is believed. Short times are known
// less well, and clocks err, but not that much.
constexpr bool CanHaveHappened(uint64_t events, Nanos time) {
  return events <= 1000 + 2 * static_cast<uint64_t>(std::max<int64_t>(time.value, 0));
}

// Summed up over the threads of a process.
struct CallCounts {
  uint64_t events = 0;            // begins and ends
  uint64_t lost = 0;              // events
  uint64_t gaps = 0;              // in which they were lost
  uint64_t unmatched_ends = 0;    // fit no open call: left out
  uint64_t implied_ends = 0;      // of calls that ended because a caller did
  uint64_t ends_of_excluded = 0;  // of functions that a filter leaves out
  uint64_t nameless = 0;          // calls whose name could not be had
  uint64_t too_deep = 0;          // calls beyond the depth that is kept
  uint64_t reconciled = 0;        // events that only told what the snapshot had shown
  uint64_t strange = 0;           // records that make no sense
  uint64_t unknown = 0;           // extended records of kinds that we do not know
};

// What the replayers of one process share.
struct CallContext {
  CallNames& names;
  GeneratorIds generators;
  CallCounts counts;
  RemoteAddr step_code;   // the code object whose calls end a step of the job; null = none
  size_t open_calls = 0;  // of all threads
  CallBudget* budget = nullptr;
};

class CallReplayer {
 public:
  // Both must outlive the replayer. Times before `begin` are held at it.
  CallReplayer(CallContext& context, CallSink& sink, Nanos begin);
  ~CallReplayer();
  CallReplayer(const CallReplayer&) = delete;
  CallReplayer& operator=(const CallReplayer&) = delete;

  // The frames that ran already; call it first, or not at all for a thread that began later.
  void Start(const ThreadSnapshot& snapshot);
  // The innermost frame at the first event; null = not known. Before that is fed.
  void SetFirstFrame(RemoteAddr frame) { first_frame_ = frame; }
  // The next records of the thread, in pieces of any size. Times after `now` are held at it.
  void Feed(std::span<const pp_record> records, const TickMap& ticks, Nanos now);
  // What was fed ends with a whole event: nothing more will be said of its last record.
  void EndOfEvent() {
    Settle();
    pending_ = {};
    context_.counts.strange += extended_.Drop() ? 1 : 0;
  }
  // No more will come: what is open is cut.
  void Finish(Nanos when);

  size_t depth() const { return stack_.size(); }
  bool HasOpen(RemoteAddr code) const;

 private:
  enum class Kind : uint8_t { kPython, kC, kUnknown };
  struct Call {
    uint64_t identity = 0;  // code object or callable
    uint64_t address = 0;   // of the frame, where it is known
    GeneratorId generator;
    FrameId function;
    Kind kind = Kind::kPython;
    LeftOutBy left_out = kShown;
    bool shown = true;          // has an open slice
    bool called = false;        // something in Python
    bool c_call_known = false;  // else a C function may run in it, whose call nobody saw
  };
  // A record with what the ones after it say of it.
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
  uint64_t root_ = 0;                                       // which stack that is; 0: not known
  std::unordered_map<uint64_t, std::vector<Call>> parked_;  // the other ones that are not empty
  std::vector<uint64_t> below_;                             // told of the stack that is switched to
  std::optional<Nanos> left_;                               // when it was left, where nothing was told since
  bool follows_ = false;                                    // it is told which stack that is
  bool has_switched_ = false;
  bool is_doubtful_ = false;  // events were lost: what is in the stack is told again
  uint64_t overflow_ = 0;     // calls above stack_ that are not kept
  bool in_gap_ = false;
  Nanos gap_from_;
  uint64_t gap_events_ = 0;
  RemoteAddr first_frame_;
  bool is_first_ = true;       // the snapshot's top is still to be weighed
  bool top_may_tell_ = false;  // a START or RESUME that comes first is that of the snapshot's top
};

}  // namespace ptrace_prof
