// Threads of one process, stopped for as long as this object lives.
//
// Stop() seizes (PTRACE_SEIZE, never SIGSTOP) and interrupts the threads and waits, bounded by the deadline, until
// each is in its stop; StopAll() re-reads /proc/<pid>/task until no new thread appears. The destructor detaches
// exactly what it holds and delivers any signal it swallowed, so an early return resumes the target; when we
// are killed, the kernel detaches. A group-stopped (SIGSTOP'ed) thread stays group-stopped after we leave.
// Threads that died meanwhile are simply not in threads(), which may be empty.
// ptrace binds to the calling thread: create and destroy on the same one. While one exists: no logging, no
// symbol work, no waiting on anything but the target.
//
// A thread that does not stop in time cannot be let go before it does (the kernel detaches only stopped threads).
// It is remembered, and who got kDeadlineExceeded calls ReleaseLate() until that returns 0.
// A stop is not invisible to a thread that waits in epoll_wait, semop, sigtimedwait and a few more (signal(7),
// "Interruption of system calls … by stop signals"): the call ends with EINTR. So stop threads that run; what waits
// does not change and needs no stop.
#pragma once

#include <cstddef>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/ptrace/tracee.h"

namespace ptrace_prof {

class StoppedThreads {
 public:
  // kPermissionDenied: Yama, capabilities, seccomp or another tracer (access_diagnosis.h explains which); StopAll says
  // kAlreadyTraced, and by whom.
  // kDeadlineExceeded: a thread did not stop in time (uninterruptible sleep, no CPU); the others are let go.
  // kGone: the process ended.
  static Result<StoppedThreads> Stop(Pid pid, Tid tid, Nanos timeout);
  static Result<StoppedThreads> StopAll(Pid pid, Nanos timeout);

  // Detaches from the threads of this (calling) thread that stopped too late or were killed while they were held, as
  // far as the kernel allows it now. The number that remains: call again. Costs nothing when there is none.
  static size_t ReleaseLate();

  StoppedThreads(StoppedThreads&& other) noexcept = default;
  StoppedThreads& operator=(StoppedThreads&&) = delete;
  ~StoppedThreads();

  const std::vector<Tid>& threads() const { return threads_; }

 private:
  explicit StoppedThreads(Pid pid) : pid_(pid) {}

  bool Knows(Tid tid) const;
  // True if the thread was seized now, false if it has ended.
  Result<bool> Seize(Tid tid);
  // Until every seized thread is stopped or dead.
  Result<void> AwaitStops(Nanos deadline);
  // The threads of seized_ that have stopped move to threads_.
  void CollectStops();

  Pid pid_;
  std::vector<Tid> seized_;   // interrupted, not seen to stop yet
  std::vector<Tid> threads_;  // stopped
  std::vector<int> signals_;  // for each of threads_: the signal to deliver on detach, or 0
};

}  // namespace ptrace_prof
