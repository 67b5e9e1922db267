// The threads that the calling thread traces, apart from those in a StoppedThreads: one that is stopped for one read
// (brief_stop.h), and the late ones, which have no holder any more.
//
// Two kinds are late: threads that did not stop in time, and threads that were killed while they were held. Both must
// be checked again: a thread that stops late waits for us, and the end of a dead one is hidden from its process and
// parent until we reap it. An exec waits for that: it kills all other threads and waits until each is reaped. Each of
// our threads has its own list, because ptrace(2) binds to threads.
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
  bool is_over = false;  // released by the handler
};

std::span<TracedThread> TracedThreads();
void AddTracedThread(Pid process, Tid tid);
void RemoveTracedThread(Tid tid);
// Marks the thread as late; adds it if it was not in the list.
void AddLateThread(Pid process, Tid tid);
// Gives a late thread back to a new holder: true if it was in the list, still traced and interrupted.
bool TakeLateThread(Tid tid);
// Releases the late threads that can be released. Returns the number of the others.
size_t ReleaseLateThreads();

// A thread that calls exec takes the id of the first thread, and its tracer traces it under that id from then on. True:
// this has happened to a thread of the process that is not found under its own id any more, and this thread traces it.
bool IsTracedAsFirst(Pid process);

enum class LetGoOf : uint8_t {
  kNone,
  kLate,
  kAll,  // including those that are about to be read
};

// Reaps threads that this thread traces (not first ones: no exec waits for those), and releases those that have
// stopped. For a handler of SIGCHLD: calls nothing but waitid and ptrace.
void NoteEndsOf(std::span<TracedThread> threads, LetGoOf whom);
void NoteEndsOf(std::span<const Tid> threads);

// While one exists, a handler of SIGCHLD does this at once, whatever the calling thread does meanwhile. For all work
// that takes longer than a thread of the job may be stopped. One at a time per process.
class LettingGo {
 public:
  explicit LettingGo(LetGoOf whom);
  ~LettingGo();
  LettingGo(const LettingGo&) = delete;
  LettingGo& operator=(const LettingGo&) = delete;

 private:
  sigset_t mask_{};  // the mask before
};

sigset_t ChildSignal();  // the set of SIGCHLD alone
// Installs the handler that both this and GuardedSeize need. If SIGCHLD is ignored, the kernel reaps by itself; another
// component's handler stays.
void InstallNotingOfEnds();
// The threads that the handler reaps in addition while the calling thread waits for the kernel; null: none.
void NoteEndsMeanwhile(const std::span<const Tid>* held);

}  // namespace ptrace_prof
