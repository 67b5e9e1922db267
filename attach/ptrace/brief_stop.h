// One thread of a target, stopped for one read and let go again: PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH.
//
// Nothing stays attached: a signal that finds a tracer waits for it, so a thread that we kept would stand still at each
// of its signals. When we are killed the kernel lets the thread go. A thread that does not trap at once is in the
// kernel or off its CPU; it traps before its next instruction of user code, and from then on waits for us: whoever got
// kComing calls Await again, soon, until that ends. ptrace binds to the calling thread. While one is kStopped: no
// logging, no allocation, no waiting for anything else. Never two at a time in one process.
//
// A thread that waits in epoll_wait, semop, sigtimedwait and a few more (signal(7), "Interruption of system calls … by
// stop signals") gets EINTR from a stop: see attach/proc/run_probe.h for whether it waits.
// Where the memory of the process is read by a grant (memory_grants.h), who granted it stops the thread for us.
#pragma once

#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

enum class StopVia : uint8_t { kOwnRight, kGrant };

class BriefStop {
 public:
  enum class State : uint8_t {
    kNone,     // nobody was asked
    kComing,   // it has not trapped yet
    kStopped,  // it stands still until Release
    kRefused,  // refusal() says why: another tracer has it, or the kernel forbids it
    kGone,     // it has ended
  };

  BriefStop() = default;
  // Asks the thread to stop. Returns at once.
  BriefStop(Pid pid, Tid tid, StopVia via);
  BriefStop(BriefStop&& other) noexcept;
  BriefStop& operator=(BriefStop&& other) noexcept;
  ~BriefStop() { Release(); }

  // Until it stands still, but no longer than so long after now.
  State Await(Nanos patience);
  State state() const { return state_; }
  int refusal() const { return refusal_; }  // an errno
  Nanos asked() const { return asked_; }
  // Has the stop ended a system call of the thread's early, which failed with EINTR? Only while it stands still.
  bool HasInterruptedCall() const;
  // Lets it go, with the signal that the stop held up. A thread that has not trapped becomes a late one
  // (traced_threads.h).
  void Release();

 private:
  State Look();

  Pid pid_;
  Tid tid_;
  StopVia via_ = StopVia::kOwnRight;
  State state_ = State::kNone;
  int refusal_ = 0;
  int signal_ = 0;
  Nanos asked_;
};

}  // namespace ptrace_prof
