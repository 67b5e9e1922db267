#define _GNU_SOURCE
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "reference.h"

enum { kSpinNs = 150000, kNapNs = 20000 };

// Waits until the thread is stopped by our interruption. Signals that come first are passed on.
static bool AwaitStop(struct Thread *thread) {
  int64_t began = NowNs();
  for (;;) {
    int status = 0;
    pid_t found = waitpid(thread->tid, &status, __WALL | WNOHANG);
    if (found < 0) return errno == ECHILD;  // it has ended
    if (found == thread->tid) {
      if (!WIFSTOPPED(status)) return true;
      if (status >> 16 == PTRACE_EVENT_STOP) {
        thread->stopped = true;
        return true;
      }
      ptrace(PTRACE_CONT, thread->tid, 0, WSTOPSIG(status));
      continue;
    }
    if (NowNs() - began > kSpinNs) nanosleep(&(struct timespec){0, kNapNs}, NULL);
  }
}

bool StopThreads(struct Thread *threads, int count) {
  bool good = true;
  bool ours[kMaxThreads] = {false};
  for (int index = 0; index < count; ++index) {
    threads[index].stopped = false;
    if (!threads[index].tid) continue;
    ours[index] = ptrace(PTRACE_SEIZE, threads[index].tid, 0, 0) == 0;
    good = good && (ours[index] || errno == ESRCH);
  }
  for (int index = 0; index < count; ++index) {
    if (ours[index]) ptrace(PTRACE_INTERRUPT, threads[index].tid, 0, 0);
  }
  for (int index = 0; index < count; ++index) {
    if (ours[index]) good = AwaitStop(&threads[index]) && good;
  }
  return good;
}

void LetGo(struct Thread *threads, int count) {
  for (int index = 0; index < count; ++index) {
    if (threads[index].stopped) ptrace(PTRACE_DETACH, threads[index].tid, 0, 0);
  }
}
