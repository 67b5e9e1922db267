// Takes the stacks of the threads of one process at one instant. It records what was read and infers nothing.
//
// Frames change only in the thread that has the GIL. If that thread runs, it is stopped for one read (brief_stop.h);
// all others stand still as long as the GIL's count of switches does not change. Whether the holder runs is checked
// last before the stop. Its frames are not read before the stop, which would slow down code that makes many calls. If
// the GIL has gone to another thread meanwhile, that thread is taken next. Without a GIL each running thread is
// stopped, one after the other. A waiting thread is not stopped: its stack is valid if it waited before and after the
// read and was not scheduled in between.
//
// If a GIL has lately changed hands more than once a millisecond, the holder that we look up is no longer the holder
// when it stops. Then all threads that run or may want the GIL are stopped together, unless there are too many. Nothing
// that is read decides whether there is a sample, as that would bias samples by what the program does.
//
//   Take ──► the holder runs ──► stop ──► stopped within 50 us ──► read, let go ──► kTaken
//        │                        │                 └─► not yet: read; read again when it stops: equal stacks are
//        │                        │                     a fact, different ones are torn. After 1 ms: kLate (PollLate)
//        │                        └─► refused (another tracer): kMissed
//        └─► it waits ──► read without a stop ──► kTaken
//
// New code objects are named right after the thread goes on (frame_codes.h). Owned by ProcessSampler; used only by the
// thread that traces.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/process_memory.h"
#include "attach/ptrace/brief_stop.h"
#include "attach/ptrace/stopped_threads.h"
#include "daemon/collector/sample/stop_times.h"
#include "daemon/collector/target/frame_codes.h"
#include "daemon/collector/target/interpreter_watch.h"
#include "daemon/collector/target/opened_process.h"
#include "daemon/collector/target/stack_builder.h"
#include "daemon/collector/target/thread_roster.h"

namespace ptrace_prof {

struct StopRefusal {
  Error error;
  Nanos since;
  int times = 1;  // refusals in a row, without a successful stop in between
};

class InstantReader {
 public:
  enum class Outcome : uint8_t {
    kTaken,
    kMissed,  // the thread could not be stopped or was not found
    kLate,    // the thread has not stopped yet
    kEnded,   // the process ended, or has exec'ed another program
  };

  struct Parts {
    const OpenedProcess& process;
    ProcessMemory& memory;
    InterpreterWatch& watch;
    ThreadRoster& roster;
    CodeCache& codes;
    StackBuilder& builder;
    Accounting& accounting;
    bool holder_only = false;  // --gil
  };

  explicit InstantReader(const Parts& parts);

  // Reads only the interpreters' words: which thread has which GIL.
  Outcome ReadWords();
  // Takes the threads of `gil` (an index into InterpreterWatch::gils()); nullopt: all threads that run without a GIL.
  Outcome Take(std::optional<size_t> gil, Nanos now);
  // Takes all threads without a stop. Each is read twice, and a stack that differs is torn.
  Outcome TakeLoosely(Nanos now);
  // Takes all threads while the whole process is stopped.
  Outcome TakeAllStopped(Nanos now);

  // A thread was asked to stop and has not stopped yet. Until it does, no other thread of the process is stopped.
  // PollLate returns kLate as long as that is so.
  bool is_waiting() const { return late_.has_value(); }
  Outcome PollLate();

  const StopTimes& stop_times() const { return times_; }
  // Set while the kernel refuses to stop the process: another tracer holds it, perhaps only briefly.
  const std::optional<StopRefusal>& refusal() const { return refusal_; }
  Nanos words_read() const { return words_read_; }  // last time at which the program's mark was seen in place
  // Called if the thread's stack differs from its last one.
  std::function<void(ThreadTrack&)> on_move;

 private:
  struct First {
    bool is_usable = false;
    std::vector<RawFrame> frames;
  };
  struct Late {
    BriefStop stop;
    ThreadTrack* track;
    std::optional<size_t> gil;
    First first;
  };

  void BeginBatch();
  void AddWords();
  size_t AppendWords();
  void AppendTrack(ThreadTrack& track);
  bool ReadTogether(size_t words);
  bool IsOf(const ThreadTrack& track, std::optional<size_t> gil) const;
  const GilView* GilOf(const ThreadTrack& track) const { return watch_.gil_of(track.interpreter); }
  bool MayHaveMoved(const ThreadTrack& track) const;
  bool IsPassed(const ThreadTrack& track, size_t place) const;
  NodeId RootOf(const ThreadTrack& track) const;
  void AcceptAll(const std::vector<ThreadTrack*>& read, const std::vector<CollectStatus>& statuses, bool count_lost);
  std::vector<ThreadTrack*> Movers(std::optional<size_t> gil, const ThreadTrack* without);
  std::vector<ThreadTrack*> LooseMovers();
  RunProbe& ProbeOf(ThreadTrack& track) const;
  bool MayStop(ThreadTrack& track);

  bool IsHandedOn(size_t gil, Nanos now);
  Outcome TakeHolder(size_t gil, ThreadTrack& holder, Nanos now);
  Outcome TakeRunning(ThreadTrack& track, std::optional<size_t> gil, Nanos now);
  Outcome TakeStanding(ThreadTrack* holder, std::optional<size_t> gil, bool* stood);
  Outcome ReadStanding(ThreadTrack* holder, std::optional<size_t> gil);
  Outcome AcceptStanding();
  Outcome TakeOthers(size_t gil, const ThreadTrack* holder);
  bool TakeWaiting(ThreadTrack& track);
  void TakeOneByOne(const std::vector<ThreadTrack*>& tracks);
  Outcome TakeFree(Nanos now);
  Tid HolderNow(size_t gil);
  std::vector<ThreadTrack*> TracksOf(std::optional<size_t> gil) const;
  struct Together {
    std::vector<ThreadTrack*> tracks;  // to be read
    std::vector<Tid> tids;             // threads to stop for the read; empty: none for one GIL, all for the process
  };
  Together ChooseTogether(size_t gil, Nanos now);
  Result<StoppedThreads> StopTogether(const std::optional<size_t>& gil, const std::vector<Tid>& tids);
  bool ReadAllStacks(const std::vector<ThreadTrack*>& tracks);
  bool IsIdle(ThreadTrack& track, Nanos now) const;
  std::optional<Outcome> TakeHandedOn(size_t gil, Nanos now);
  Outcome TakeTogether(const Together& chosen, std::optional<size_t> gil, Nanos now);
  void TakeLeftAlone();
  void Remember(Error refusal, Nanos now);
  Outcome RefusedAll(const Error& error, Nanos now);
  void CollectAll(std::vector<CollectStatus>& collected, Nanos deadline);
  Outcome ReadHeld(BriefStop& stop, ThreadTrack& track, std::optional<size_t> gil, Nanos since, const First* first);
  Outcome Refused(const BriefStop& stop, ThreadTrack& track, Nanos now);

  bool Accept(ThreadTrack& track, CollectStatus collected);
  void AcceptTorn(ThreadTrack& track, const std::vector<RawFrame>& first);
  void Show(ThreadTrack& track, const TakenStack& taken);
  bool LacksCaller(ThreadTrack& track, const std::vector<CodeId>& names) const;

  const OpenedProcess& process_;
  ProcessMemory& memory_;
  InterpreterWatch& watch_;
  ThreadRoster& roster_;
  CodeCache& codes_;
  StackBuilder& builder_;
  Accounting& accounting_;
  const bool holder_only_;
  const Pid pid_;
  const StopVia via_;
  FrameCodes frame_codes_;
  StopTimes times_;
  std::optional<Late> late_;
  std::optional<StopRefusal> refusal_;
  std::vector<ReadRequest> batch_;
  std::vector<ThreadTrack*> in_batch_;
  std::vector<ThreadTrack*> standing_;  // what ReadStanding read
  std::vector<CollectStatus> statuses_;
  std::vector<ThreadTrack*> left_alone_;  // they wait, and are not stopped with the others
  std::vector<size_t> ends_;              // for each of in_batch_: the number of requests up to and including its own
  size_t filled_ = 0;
  uint64_t mark_word_ = 0;
  Nanos words_read_;
  struct Hands {
    uint64_t switches = 0;
    Nanos at;
    double rate = 0;  // recent hand-overs per nanosecond
  };
  std::vector<Hands> hands_;  // one per GIL
  // State of a GIL when at most one of its threads (`without`) had moved. While it stays equal, no thread needs a
  // check.
  struct Standing {
    uint64_t changes = 0;
    uint64_t switches = 0;
    uint64_t holder = 0;
    const ThreadTrack* without = nullptr;
    bool operator==(const Standing&) const = default;
  };
  std::vector<std::optional<Standing>> unmoved_;
  size_t turn_ = 0;  // counts instants: which threads are due among those that are checked in turns
};

}  // namespace ptrace_prof
