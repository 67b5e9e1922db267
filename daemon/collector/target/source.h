// The interface of what a capture records: samples, calls, GPU operations. CaptureLoop drives it.
//
//   Open ──► Prepare ──► Arm ──► Poll … ──► Disarm ──► Finish
//     │         │         │
//     └─────────┴─────────┴──► refused: the Error of a stack source is that of the capture; other sources say in the
//                              trace why they record nothing
//
// Open only reads. Prepare brings into the target what the source needs; that stays inert until Arm. Poll does a
// bounded amount of work and writes packets. Disarm ends the recording within its patience. Finish writes what depends
// on the last records of all sources. Sources do not know each other. Owned by the capture; one thread, the one that
// may trace.
#pragma once

#include <functional>
#include <optional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/target/opened_process.h"
#include "daemon/collector/target/thread_roster.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

// What the sources of one process share.
struct RecordedProcess {
  Pid pid;
  RemoteMemory& memory;
  const OpenedProcess& process;
  ThreadRoster& roster;
};

class Source {
 public:
  using GoOn = std::function<bool()>;

  virtual ~Source() = default;

  // `go_on` is asked while the target does not take up what is brought in; false: give up.
  virtual Result<void> Prepare(const GoOn& go_on) = 0;
  // Called between Prepare and Arm while another source takes its time.
  virtual void KeepAlive() {}
  // Called instead of Arm: the capture does not begin.
  virtual void Abandon() {}
  // Asked at each turn of the loop. A source whose subject did not exist when it was prepared says once it does; then
  // it is prepared and armed.
  virtual bool HasCome(Nanos /*now*/) { return false; }
  // Returns the instant at which the recording began. `begun`: that instant of the stack source, which comes first.
  virtual Result<Nanos> Arm(Nanos begun) = 0;
  // `known_until`: the positions of the threads are known until then.
  virtual void Poll(Nanos now, Nanos known_until) = 0;
  // `meanwhile` is called while the source waits. No patience: the process is gone.
  virtual void Disarm(Nanos patience, const std::function<void()>& meanwhile) = 0;
  virtual void Finish(Nanos now) = 0;
  // For a source with small buffers: it is polled at each turn of the loop, and after this time at the latest. nullopt:
  // before each flush.
  virtual std::optional<Nanos> PollWithin() const { return std::nullopt; }
};

// The source that knows the positions of the threads: samples or calls. A capture has exactly one. It sets the pace.
class StackSource : public Source {
 public:
  struct Pace {
    Nanos first_flush;  // after the begin
    Nanos flush_every;
    bool polls_others_each_turn = false;  // false: before each flush
  };

  virtual Result<void> Open() = 0;
  virtual Pace pace() const = 0;
  // Whether threads of the target may stand still between two turns of the loop (see LettingGo).
  virtual bool HoldsThreads() const = 0;
  // The target. Nothing: it is not open yet, or it is gone.
  virtual std::optional<RecordedProcess> process() = 0;
  // `on_gone` is called when the target is gone, while process() of before is still valid.
  virtual void SetOnGone(std::function<void()> on_gone) = 0;
  // Looks for new processes and for ends. False: nothing is left to record, or the time is over.
  virtual bool Look(Nanos now) = 0;
  // Preparing the other sources took that long: a window of fixed length ends later.
  virtual void Delay(Nanos took) = 0;
  // Asked after Poll: whether what was asked for is recorded.
  virtual bool IsOver(Nanos now) = 0;
  virtual Nanos KnownUntil(Nanos now) = 0;
  // Whether so much is waiting to be written that the pace does not matter.
  virtual bool MustFlush() const { return false; }
  virtual void Flush() {}    // hands all to the writer
  virtual void Flushed() {}  // the writer has passed it on
  // Sleeps until there is work, at most until `until`. Returns the time.
  virtual Nanos Wait(Nanos until) = 0;
  // Keeps up with the target while another source leaves.
  virtual void KeepUp() {}
  // Asked once, before Disarm.
  virtual EndInfo WhyOver() = 0;
  virtual void CountInto(Accounting& accounting, Nanos now) = 0;
};

}  // namespace ptrace_prof
