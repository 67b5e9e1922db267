// PTRACE_SEIZE of a thread while the caller traces other threads, perhaps of the same process.
//
// PTRACE_SEIZE waits while a thread of that process is in exec (cred_guard_mutex; man 2 ptrace, "execve(2) under
// ptrace"), and the exec waits until the tracer has reaped each thread that it killed. So a tracer that seizes one
// thread after another could wait for itself. Here a handler of SIGCHLD reaps them meanwhile. While an object exists,
// signals of children are blocked. One at a time per process.
#pragma once

#include <csignal>
#include <span>

#include "attach/base/types.h"

namespace ptrace_prof {

class GuardedSeize {
 public:
  GuardedSeize();
  ~GuardedSeize();
  GuardedSeize(const GuardedSeize&) = delete;
  GuardedSeize& operator=(const GuardedSeize&) = delete;

  // `held`: the threads of that process that the caller traces besides TracedThreads(), without the first thread, whose
  // end no exec waits for. Returns 0, or the errno.
  int Seize(Tid tid, std::span<const Tid> held);
  // For callers that hold no other thread: costs no more than the call if nothing is traced at all.
  static int SeizeOne(Tid tid);

 private:
  sigset_t mask_{};  // the mask before
};

}  // namespace ptrace_prof
