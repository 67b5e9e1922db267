#include "attach/ptrace/guarded_seize.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>

namespace ptrace_prof {
namespace {

std::atomic<const std::span<const Tid>*> now_held = nullptr;

// Async-signal-safe. A stop, which the kernel tells of tracees unasked, stays for who waits for it.
void NoteEnds(int) {
  const int error = errno;
  if (const std::span<const Tid>* held = now_held.load()) {
    for (const Tid tid : *held) {
      siginfo_t info{};
      const auto id = static_cast<id_t>(tid.value);
      if (::waitid(P_PID, id, &info, WEXITED | WNOWAIT | WNOHANG | __WALL) == 0 && info.si_pid != 0 &&
          (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)) {
        ::waitid(P_PID, id, &info, WEXITED | WNOHANG | __WALL);
      }
    }
  }
  errno = error;
}

sigset_t Child() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

// Where SIGCHLD is ignored, the kernel notes ends by itself; a handler of somebody else's stays.
void Install() {
  struct sigaction action {};
  if (::sigaction(SIGCHLD, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
      action.sa_handler == SIG_DFL) {
    action.sa_handler = NoteEnds;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGCHLD, &action, nullptr);
  }
}

}  // namespace

GuardedSeize::GuardedSeize() {
  Install();
  const sigset_t child = Child();
  ::pthread_sigmask(SIG_BLOCK, &child, &mask_);
}

GuardedSeize::~GuardedSeize() { ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr); }

int GuardedSeize::Seize(Tid tid, std::span<const Tid> held) {
  const sigset_t child = Child();
  if (!held.empty()) {
    now_held.store(&held);
    ::pthread_sigmask(SIG_UNBLOCK, &child, nullptr);  // also an end that came before this call is noted now
  }
  const int error = ::ptrace(PTRACE_SEIZE, tid.value, nullptr, nullptr) == 0 ? 0 : errno;
  if (!held.empty()) {
    ::pthread_sigmask(SIG_BLOCK, &child, nullptr);
    now_held.store(nullptr);
  }
  return error;
}

}  // namespace ptrace_prof
