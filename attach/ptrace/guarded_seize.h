// PTRACE_SEIZE of a thread while this thread traces others, of its process perhaps.
//
// PTRACE_SEIZE waits while a thread of that process execs (cred_guard_mutex; man 2 ptrace, "execve(2) under ptrace"),
// and the exec waits until the tracer has taken note of the end of each thread that it killed: so whoever seizes one
// thread after another could wait for itself. Here their ends are noted in a handler of SIGCHLD meanwhile. Signals of
// children are held back while one exists. One at a time per process.
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

  // `held`: what this thread traces of that process besides TracedThreads(), without the first thread, whose end nobody
  // waits for. 0, or what errno says.
  int Seize(Tid tid, std::span<const Tid> held);
  // Where nothing else is held: costs no more than the call where nothing is traced at all.
  static int SeizeOne(Tid tid);

 private:
  sigset_t mask_{};  // that was in place
};

}  // namespace ptrace_prof
