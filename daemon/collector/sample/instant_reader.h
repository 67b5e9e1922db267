// Takes the stacks of the threads of one process at one instant: what was seen, and nothing inferred.
//
// Frames change only in the thread that has the GIL. So the one that has it is stopped, if it runs, for one read
// (brief_stop.h), and every other stands still as long as the GIL's count of changes does. Whether it runs is asked
// last thing before; its frames are not read before the stop, which would slow code that calls much. Where the GIL had
// gone to another thread by then, that one is taken next. Without a GIL each thread that runs is stopped, one after the
// other. A thread that waits is not stopped: it did nothing if it waited before and after it was read and was put on no
// CPU in between. Where a GIL has changed hands more than once a millisecond lately, its threads that run
// or may want it are stopped together, if they are not too many: the holder that is looked up would not be the one that
// is stopped. Nothing that is read decides whether there is a sample: that would choose by what the program does.
//
//   Take ──► the holder runs ──► stop ──► stands still within 50 us ──► read, let go ──► kTaken
//        │                        │                 └─► not yet: read; then again when it comes: equal is a fact,
//        │                        │                     different is torn. Longer than 1 ms: kLate, see PollLate
//        │                        └─► refused (another tracer): kMissed
//        └─► it waits ──► read as it stands ──► kTaken
//
// What is new of code is named right after the thread goes on (frame_codes.h). Owned by ProcessSampler; one thread,
// which is the one that traces.
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
  int times = 1;  // without a stop in between
};

class InstantReader {
 public:
  enum class Outcome : uint8_t {
    kTaken,
    kMissed,  // the thread could not be stopped, or was not to be found
    kLate,    // it has not stopped yet
    kEnded,   // the process ended, or is another program now
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

  // The interpreters' words alone: who has which GIL.
  Outcome ReadWords();
  // The threads of that GIL (an index into InterpreterWatch::gils()), or where there is none, of all that run without.
  Outcome Take(std::optional<size_t> gil, Nanos now);
  // All threads without a stop: each is read twice, and what differs is torn.
  Outcome TakeLoosely(Nanos now);
  // All threads while the whole process stands still.
  Outcome TakeAllStopped(Nanos now);

  // A thread that was asked to stop and has not: no other thread of the process is stopped until it does. kLate: still.
  bool is_waiting() const { return late_.has_value(); }
  Outcome PollLate();

  const StopTimes& stop_times() const { return times_; }
  // Set while the kernel refuses to stop the process: another tracer holds it, perhaps only briefly.
  const std::optional<StopRefusal>& refusal() const { return refusal_; }
  Nanos words_read() const { return words_read_; }  // when the mark of the program was in place last
  // Its stack is not what it was when it was read last.
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
    std::vector<Tid> tids;             // while these stand still; none: all of the process
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
  std::vector<size_t> ends_;              // requests of the batch up to and including each of in_batch_
  size_t filled_ = 0;
  uint64_t mark_word_ = 0;
  Nanos words_read_;
  struct Hands {
    uint64_t switches = 0;
    Nanos at;
    double rate = 0;  // hand-overs a nanosecond, lately
  };
  std::vector<Hands> hands_;  // of each GIL
  // What was true of a GIL when no thread of it but one had moved: as long as it is, none needs to be asked.
  struct Standing {
    uint64_t changes = 0;
    uint64_t switches = 0;
    uint64_t holder = 0;
    const ThreadTrack* without = nullptr;
    bool operator==(const Standing&) const = default;
  };
  std::vector<std::optional<Standing>> unmoved_;
  size_t turn_ = 0;  // of those that are asked in turns
};

}  // namespace ptrace_prof
