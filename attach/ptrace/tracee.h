// One thread that the calling thread traces: what waitid(2) says about it, in named states, and how to let it go.
//
// Free functions over a thread id; the owners are StoppedThreads and its list of late threads. Looking never
// consumes an event, so that the exit status of a traced child of ours is still there for whoever started it.
#pragma once

#include <signal.h>

#include "attach/base/types.h"

namespace ptrace_prof {

enum class TraceeState {
  kRunning,        // nothing to report
  kInterrupted,    // in the stop that PTRACE_INTERRUPT asks for
  kGroupStopped,   // in a job-control stop (SIGSTOP and its kin), trapped there
  kSignalStopped,  // a signal is about to be delivered and waits for our word
  kEventStopped,   // another PTRACE_EVENT
  kDead,           // exited or killed, not reaped
  kNotTraced,      // not ours, or reaped already
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

// Detaches a stopped thread and delivers `signal` (0: none). False: it is not stopped any more, because it was killed.
bool DetachTracee(Tid tid, int signal);

// Takes note of the end of a dead tracee, without which the kernel keeps it (and an exec of the process) waiting.
// The main thread of a child of ours is left to whoever waits for that child.
void ReapTracee(Tid tid);

}  // namespace ptrace_prof
