// One thread of a target, stopped for one read and released again: PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH.
//
// No thread stays attached: a signal for a traced thread waits for the tracer, so a thread that we kept would be
// stopped at each of its signals. If we are killed, the kernel releases the thread. A thread that does not trap at once
// is in the kernel or off its CPU. It traps before its next instruction of user code, and then waits for us: after
// kComing, call Await again soon, until that ends. ptrace binds to the calling thread. While one is kStopped: no
// logging, no allocation, no waiting for anything else. Never two at a time in one process.
//
// A stop makes epoll_wait, semop, sigtimedwait and a few more calls (signal(7), "Interruption of system calls … by stop
// signals") fail with EINTR: see attach/proc/run_probe.h for whether a thread waits. If the memory of the process is
// read by a grant (memory_grants.h), the grantor stops the thread for us.
#pragma once

#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

enum class StopVia : uint8_t { kOwnRight, kGrant };

class BriefStop {
 public:
  enum class State : uint8_t {
    kNone,     // no stop was requested
    kComing,   // it has not trapped yet
    kStopped,  // it is stopped until Release
    kRefused,  // refusal() says why: another tracer has it, or the kernel forbids it
    kGone,     // it has ended
  };

  BriefStop() = default;
  // Requests a stop of the thread. Returns at once.
  BriefStop(Pid pid, Tid tid, StopVia via);
  BriefStop(BriefStop&& other) noexcept;
  BriefStop& operator=(BriefStop&& other) noexcept;
  ~BriefStop() { Release(); }

  // Waits until it is stopped, at most `patience` from now.
  State Await(Nanos patience);
  State state() const { return state_; }
  int refusal() const { return refusal_; }  // an errno
  Nanos asked() const { return asked_; }
  // Whether the stop has ended a system call of the thread early, with EINTR. Only while it is stopped.
  bool HasInterruptedCall() const;
  // Releases the thread, with the signal that the stop held back. A thread that has not trapped becomes a late one
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
