#include "daemon/collector/sandbox/stop_line.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace ptrace_prof {
namespace {

std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");
std::atomic<uint32_t> g_sharers{1};
static_assert(std::atomic<uint32_t>::is_always_lock_free);
std::atomic<int> g_control{-1};

// Reads the bytes that arrived. Async-signal-safe; the descriptor is non-blocking.
bool IsClosed(int fd) {
  uint8_t sharers = 0;
  ssize_t got = 0;
  while ((got = ::read(fd, &sharers, 1)) == 1) {
    g_sharers.store(sharers > 0 ? sharers : 1);
  }
  return got == 0 || (errno != EAGAIN && errno != EINTR);
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
  action.sa_flags = SA_RESTART;  // system calls in the middle of reading a target are restarted
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

Result<StopLine> StopLine::Watch(UniqueFd control) {
  StopLine line(std::move(control));
  const int fd = line.control_.get();
  g_control.store(fd);
  g_stop.store(false);
  g_sharers.store(1);
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

const std::atomic<uint32_t>& StopLine::sharers() const { return g_sharers; }

void ReportSharers(const UniqueFd& control, uint8_t captures) {
  if (control.is_open()) {
    (void)::send(control.get(), &captures, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

}  // namespace ptrace_prof
