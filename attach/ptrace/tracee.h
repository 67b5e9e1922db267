// One thread that the calling thread traces: the result of waitid(2) as a named state, and how to release it.
//
// Free functions over a thread id; the owners are StoppedThreads and its list of late threads. Looking never consumes
// an event, so that our parent code can still get the exit status of a traced child.
#pragma once

#include <signal.h>

#include "attach/base/types.h"

namespace ptrace_prof {

// A stop's signal (si_status of waitid) has the number of a PTRACE_EVENT from this bit on.
inline constexpr int kEventShift = 8;

enum class TraceeState {
  kRunning,        // nothing to report
  kInterrupted,    // in the stop that PTRACE_INTERRUPT requests
  kGroupStopped,   // in a job-control stop (SIGSTOP and similar), trapped there
  kSignalStopped,  // a signal is about to be delivered and waits for our decision
  kEventStopped,   // another PTRACE_EVENT
  kDead,           // exited or killed, not reaped
  kNotTraced,      // not traced by us, or reaped already
};

struct TraceeStatus {
  TraceeState state = TraceeState::kRunning;
  int signal = 0;  // kSignalStopped: to be delivered on detach; else 0

  bool stopped() const {
    return state == TraceeState::kInterrupted || state == TraceeState::kGroupStopped ||
           state == TraceeState::kSignalStopped || state == TraceeState::kEventStopped;
  }
};

TraceeStatus DecodeWait(const siginfo_t& info);
TraceeStatus LookAtTracee(Tid tid);

// Detaches a stopped thread and delivers `signal` (0: none). Returns false if it is not stopped any more, because it
// was killed.
bool DetachTracee(Tid tid, int signal);

// Reaps a dead tracee; until then the kernel keeps it (and an exec of the process) waiting. The main thread of a child
// of ours is left to the code that waits for that child.
void ReapTracee(Tid tid);

}  // namespace ptrace_prof
