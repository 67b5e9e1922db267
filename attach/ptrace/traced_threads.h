// The threads that the calling thread traces, apart from those that a StoppedThreads holds: one that is stopped for one
// read (brief_stop.h), and the late ones, which nobody holds any more.
//
// Two kinds are late: those that did not stop in time, and those that were killed while they were held. Both must be
// looked at again: a thread that stops at last waits for us, and the end of a dead one is hidden from its process and
// parent until we take note. An exec takes that long: it kills all other threads and waits for each end to be noted.
// Each of our threads has its own list, as ptrace(2) has.
#pragma once

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "attach/base/types.h"

namespace ptrace_prof {

struct TracedThread {
  Pid process;
  Tid tid;
  bool is_late = false;
  bool is_over = false;  // let go by the handler
};

std::span<TracedThread> TracedThreads();
void AddTracedThread(Pid process, Tid tid);
void RemoveTracedThread(Tid tid);
// What was in the list, or not, is late from now on.
void AddLateThread(Pid process, Tid tid);
// Gives a late thread back to a new holder: true if it was here, still traced and asked to stop.
bool TakeLateThread(Tid tid);
// Lets go of the late ones that can be; the number of the others.
size_t ReleaseLateThreads();

// A thread that execs takes the id of the first one, and who traced it does so under that id. True: that has happened
// to a thread of that process which is not to be found under its own id any more, and this thread traces it.
bool IsTracedAsFirst(Pid process);

enum class LetGoOf : uint8_t {
  kNone,
  kLate,
  kAll,  // also of those for which somebody waits to read them
};

// Takes note of the ends of threads that this thread traces (not of first ones: no exec waits for those), and lets go
// of those that have stopped. For a handler of SIGCHLD: calls nothing but waitid and ptrace.
void NoteEndsOf(std::span<TracedThread> threads, LetGoOf whom);
void NoteEndsOf(std::span<const Tid> threads);

// While one exists, a handler of SIGCHLD does that at once, whatever the calling thread does meanwhile: for all that
// takes longer than a thread of the job may stand still. One at a time per process.
class LettingGo {
 public:
  explicit LettingGo(LetGoOf whom);
  ~LettingGo();
  LettingGo(const LettingGo&) = delete;
  LettingGo& operator=(const LettingGo&) = delete;

 private:
  sigset_t mask_{};  // that was in place
};

sigset_t ChildSignal();  // the set of SIGCHLD alone
// The handler that both this and GuardedSeize need. Where SIGCHLD is ignored, the kernel notes ends by itself; a
// handler of somebody else's stays.
void InstallNotingOfEnds();
// What the handler notes in addition while the calling thread waits for the kernel: null: nothing.
void NoteEndsMeanwhile(const std::span<const Tid>* held);

}  // namespace ptrace_prof
