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
  // kPermissionDenied: Yama, capabilities, seccomp or another tracer (access_diagnosis.h explains which); StopAll says
  // kAlreadyTraced, and by whom.
  // A thread that waits in the kernel (state D: a disk, vfork) is not awaited: it stops before its next instruction,
  // and does nothing there that others can see. kDeadlineExceeded: a thread did not stop in time, which begins when all
  // were asked to (it has no CPU, or is just making a thread or an exec); the others are let go. kGone: the process
  // ended.
  static Result<StoppedThreads> Stop(Pid pid, Tid tid, Nanos timeout);
  // `first`: asked when all threads are ready to be stopped: which one is stopped before the others, because it is the
  // one that goes on meanwhile.
  static Result<StoppedThreads> StopAll(Pid pid, Nanos timeout, const std::function<Tid()>& first = nullptr);
  // Waits for none longer than that, and hardly for one that the kernel says to wait (state D). Who has not stopped by
  // then is in the kernel or has no CPU, and stops before its next instruction: its stack stands still as well. Call
  // ReleaseLate when SIGCHLD comes, until that returns 0.
  static Result<StoppedThreads> StopAllAtOnce(Pid pid, Nanos at_once, const std::function<Tid()>& first);
  // The same of these alone, each of which must be one of that process.
  static Result<StoppedThreads> StopAtOnce(Pid pid, std::span<const Tid> threads, Nanos at_once,
                                           const std::function<Tid()>& first);

  // The kernel refuses to seize a thread that has ended but is not reaped with the same EPERM as one that is protected.
  static bool HasEnded(Pid pid, Tid tid);
  // Why PTRACE_SEIZE of that thread failed with that errno: kAlreadyTraced and by whom, or kPermissionDenied.
  static Error ExplainRefusal(Pid pid, Tid tid, int refusal);

  // Detaches from the threads of this (calling) thread that stopped too late or were killed while they were held, as
  // far as the kernel allows it now. The number that remains: call again. Costs nothing when there is none.
  static size_t ReleaseLate();

  StoppedThreads(StoppedThreads&& other) noexcept = default;
  StoppedThreads& operator=(StoppedThreads&&) = delete;
  ~StoppedThreads();

  const std::vector<Tid>& threads() const { return threads_; }
  // Those that have not stopped: they do before their next instruction.
  const std::vector<Tid>& coming() const { return seized_; }

 private:
  explicit StoppedThreads(Pid pid) : pid_(pid) {}

  struct Wait {
    Nanos most;
    bool is_enough = false;     // of who has not stopped by then nothing more is wanted
    std::span<const Tid> only;  // empty: all
  };
  static Result<StoppedThreads> StopAll(Pid pid, const Wait& wait, const std::function<Tid()>& first);
  static Result<StoppedThreads> TryToStopAll(Pid pid, const Wait& wait, const std::function<Tid()>& first);
  bool Knows(Tid tid) const;
  // True if the thread was seized now, false if it has ended. It goes on until Interrupt.
  Result<bool> Seize(Tid tid, GuardedSeize& seize);
  void Interrupt(Tid first);
  // Until every seized thread is stopped or dead; kQuiet: or waits in the kernel where others see nothing of it.
  enum class Until : uint8_t { kStopped, kQuiet };
  Result<void> AwaitStops(Nanos deadline, Until until);
  // The threads of seized_ that have stopped move to threads_.
  void CollectStops();
  // The threads of threads_ that stand no more leave it.
  void LookAtHeld();

  Pid pid_;
  std::vector<Tid> seized_;   // not seen to stop yet
  std::vector<Tid> threads_;  // stopped
  std::vector<Tid> traced_;   // both, without the first thread
  std::vector<int> signals_;  // for each of threads_: the signal to deliver on detach, or 0
};

}  // namespace ptrace_prof
