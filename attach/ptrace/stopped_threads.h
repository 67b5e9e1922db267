// Threads of one process, stopped for as long as this object lives.
//
// Stop() seizes (PTRACE_SEIZE, never SIGSTOP) and interrupts the threads and waits until each is in its stop, at most
// until the deadline. StopAll() re-reads /proc/<pid>/task until no new thread appears. The destructor detaches exactly
// the threads it holds and delivers any signal that it held back, so an early return resumes the target; if we are
// killed, the kernel detaches. A group-stopped (SIGSTOP'ed) thread stays group-stopped afterwards. Threads that died
// meanwhile are not in threads(), which may be empty. ptrace binds to the calling thread: create and destroy on the
// same one. While one exists: no logging, no symbol work, no waiting on anything but the target.
//
// A thread that does not stop in time cannot be released before it does (the kernel detaches only stopped threads). It
// is remembered: after kDeadlineExceeded, call ReleaseLate() until that returns 0. A stop makes epoll_wait, semop,
// sigtimedwait and a few more calls (signal(7), "Interruption of system calls … by stop signals") fail with EINTR. So
// stop threads that run; a waiting thread does not change and needs no stop.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/ptrace/tracee.h"

namespace ptrace_prof {

class GuardedSeize;

class StoppedThreads {
 public:
  // kPermissionDenied: Yama, capabilities, seccomp or another tracer (access_diagnosis.h explains which); StopAll
  // returns kAlreadyTraced, with the tracer.
  // A thread that waits in the kernel (state D: a disk, vfork) is not awaited: it stops before its next instruction,
  // and has no effect there that other processes can see. kDeadlineExceeded: a thread did not stop in time, counted
  // from when all were interrupted (it has no CPU, or is making a thread or an exec); the others are released. kGone:
  // the process ended.
  static Result<StoppedThreads> Stop(Pid pid, Tid tid, Nanos timeout);
  // `first`: called when all threads are seized; returns the thread to stop before the others, because it is the one
  // that runs meanwhile.
  static Result<StoppedThreads> StopAll(Pid pid, Nanos timeout, const std::function<Tid()>& first = nullptr);
  // Waits no longer than `at_once` for any thread, and hardly for one that the kernel reports as waiting (state D). A
  // thread that has not stopped by then is in the kernel or has no CPU, and stops before its next instruction, so its
  // stack does not change either. Call ReleaseLate when SIGCHLD comes, until that returns 0.
  static Result<StoppedThreads> StopAllAtOnce(Pid pid, Nanos at_once, const std::function<Tid()>& first);
  // The same for these threads only, each of which must belong to that process.
  static Result<StoppedThreads> StopAtOnce(Pid pid, std::span<const Tid> threads, Nanos at_once,
                                           const std::function<Tid()>& first);

  // The kernel refuses to seize a thread that has ended but is not reaped with the same EPERM as a protected one.
  static bool HasEnded(Pid pid, Tid tid);
  // Why PTRACE_SEIZE of that thread failed with that errno: kAlreadyTraced with the tracer, or kPermissionDenied.
  static Error ExplainRefusal(Pid pid, Tid tid, int refusal);

  // Detaches the calling thread from threads that stopped too late, or were killed while they were held, as far as the
  // kernel allows now. Returns the number that remains: call again. Costs nothing if there is none.
  static size_t ReleaseLate();

  StoppedThreads(StoppedThreads&& other) noexcept = default;
  StoppedThreads& operator=(StoppedThreads&&) = delete;
  ~StoppedThreads();

  const std::vector<Tid>& threads() const { return threads_; }
  // The threads that have not stopped yet: they will before their next instruction.
  const std::vector<Tid>& coming() const { return seized_; }

 private:
  explicit StoppedThreads(Pid pid) : pid_(pid) {}

  struct Wait {
    Nanos most;
    bool is_enough = false;     // threads that have not stopped by then are not needed
    std::span<const Tid> only;  // empty: all
  };
  static Result<StoppedThreads> StopAll(Pid pid, const Wait& wait, const std::function<Tid()>& first);
  static Result<StoppedThreads> TryToStopAll(Pid pid, const Wait& wait, const std::function<Tid()>& first);
  bool Knows(Tid tid) const;
  // True if the thread was seized now, false if it has ended. It runs until Interrupt.
  Result<bool> Seize(Tid tid, GuardedSeize& seize);
  void Interrupt(Tid first);
  // Until every seized thread is stopped or dead; kQuiet: or waits in the kernel with no effect that other processes
  // see.
  enum class Until : uint8_t { kStopped, kQuiet };
  Result<void> AwaitStops(Nanos deadline, Until until);
  // Moves the threads of seized_ that have stopped to threads_.
  void CollectStops();
  // Removes from threads_ those that are no longer stopped.
  void LookAtHeld();

  Pid pid_;
  std::vector<Tid> seized_;   // not seen stopped yet
  std::vector<Tid> threads_;  // stopped
  std::vector<Tid> traced_;   // both, without the first thread
  std::vector<int> signals_;  // for each of threads_: the signal to deliver on detach, or 0
};

}  // namespace ptrace_prof
