// Threads of one process, stopped for as long as this object lives.
//
// Stop() seizes (PTRACE_SEIZE, never SIGSTOP) and interrupts the threads and waits, bounded by the deadline, until
// each is in its stop; StopAll() re-reads /proc/<pid>/task until no new thread appears. The destructor detaches
// exactly what it holds and delivers any signal it swallowed, so an early return resumes the target; when we
// are killed, the kernel detaches. A group-stopped (SIGSTOP'ed) thread stays group-stopped after we leave.
// Threads that died meanwhile are simply not in threads().
// ptrace binds to the calling thread: create and destroy on the same one. While one exists: no logging, no
// symbol work, no waiting on anything but the target.
#pragma once

#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

class StoppedThreads {
 public:
  // kPermissionDenied: Yama, capabilities, seccomp or another tracer (access_diagnosis.h explains which).
  // kDeadlineExceeded: a thread did not stop in time (uninterruptible sleep); nothing stays stopped.
  // kGone: the process ended.
  static Result<StoppedThreads> Stop(Pid pid, Tid tid, Nanos timeout);
  static Result<StoppedThreads> StopAll(Pid pid, Nanos timeout);

  StoppedThreads(StoppedThreads&& other) noexcept;
  StoppedThreads& operator=(StoppedThreads&&) = delete;
  ~StoppedThreads();

  const std::vector<Tid>& threads() const { return threads_; }

 private:
  explicit StoppedThreads(Pid pid) : pid_(pid) {}
  Pid pid_;
  std::vector<Tid> threads_;
};

}  // namespace ptrace_prof
