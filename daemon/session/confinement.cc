#include "daemon/session/confinement.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace ptrace_prof {
namespace {

struct Limit {
  __rlimit_resource resource;
  rlim_t value;
};

constexpr Limit kLimits[] = {
    {RLIMIT_CORE, 0},
    {RLIMIT_FSIZE, 0},       // pipes do not count
    {RLIMIT_NOFILE, 65536},  // some for each thread that is watched
    {RLIMIT_MSGQUEUE, 0},
};

void CloseBetween(unsigned first, unsigned last) {
  if (first <= last) {
    ::syscall(SYS_close_range, first, last, 0);
  }
}

}  // namespace

void LeaveTerminal(int stream_fd, int control_fd) {
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGXFSZ}) {
    ::signal(signal, SIG_IGN);
  }
  ::setsid();
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
  }
  const auto low = static_cast<unsigned>(std::min(stream_fd, control_fd));
  const auto high = static_cast<unsigned>(std::max(stream_fd, control_fd));
  CloseBetween(3, low - 1);
  CloseBetween(low + 1, high - 1);
  CloseBetween(high + 1, ~0U);
  (void)!::chdir("/");
}

void LimitResources() {
  for (const Limit& limit : kLimits) {
    rlimit now{};
    ::getrlimit(limit.resource, &now);
    const rlim_t value = std::min(limit.value, now.rlim_max);
    const rlimit wanted{value, value};
    ::setrlimit(limit.resource, &wanted);
  }
}

}  // namespace ptrace_prof
