#include "daemon/session/stop_line.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace ptrace_prof {
namespace {

std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");
std::atomic<int> g_control{-1};

bool IsClosed(int fd) {
  pollfd state{fd, POLLIN, 0};
  return ::poll(&state, 1, 0) == 1;  // nothing is ever sent on it: readable means end of file
}

void OnTerminate(int) { g_stop.store(true); }

void OnControl(int) {
  const int saved = errno;
  if (IsClosed(g_control.load())) {
    g_stop.store(true);
  }
  errno = saved;
}

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // a system call in the middle of reading a target need not know
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

Result<StopLine> StopLine::Watch(UniqueFd control) {
  StopLine line(std::move(control));
  const int fd = line.control_.get();
  g_control.store(fd);
  g_stop.store(false);
  Handle(SIGTERM, OnTerminate);
  Handle(SIGIO, OnControl);
  const int flags = ::fcntl(fd, F_GETFL);
  if (::fcntl(fd, F_SETOWN, ::getpid()) != 0 || ::fcntl(fd, F_SETFL, flags | O_ASYNC | O_NONBLOCK) != 0) {
    return ErrnoError(errno, "cannot watch the control line");
  }
  if (IsClosed(fd)) {
    g_stop.store(true);
  }
  return line;
}

const std::atomic<bool>& StopLine::stop() const { return g_stop; }

}  // namespace ptrace_prof
