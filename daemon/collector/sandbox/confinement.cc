#include "daemon/collector/sandbox/confinement.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "attach/base/sanitizers.h"

namespace ptrace_prof {
namespace {

struct Limit {
  __rlimit_resource resource;
  rlim_t value;
};

constexpr Limit kLimits[] = {
    {RLIMIT_CORE, 0},
    {RLIMIT_NOFILE, 65536},  // some for each watched thread
    {RLIMIT_MSGQUEUE, 0},
    // The code bounds what a target can make us store; this limit is for mistakes there.
    {RLIMIT_DATA, kIsSanitized ? RLIM_INFINITY : rlim_t{8} << 30},
};

void Lower(const Limit& limit) {
  rlimit now{};
  ::getrlimit(limit.resource, &now);
  const rlim_t value = std::min(limit.value, now.rlim_max);
  const rlimit wanted{value, value};
  ::setrlimit(limit.resource, &wanted);
}

void CloseBetween(unsigned first, unsigned last) {
  if (first <= last) {
    ::syscall(SYS_close_range, first, last, 0);
  }
}

}  // namespace

void LeaveTerminal(std::vector<int> kept) {
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGXFSZ}) {
    ::signal(signal, SIG_IGN);
  }
  ::setsid();
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
  }
  std::sort(kept.begin(), kept.end());
  unsigned next = STDERR_FILENO + 1;
  for (const int fd : kept) {
    CloseBetween(next, static_cast<unsigned>(fd) - 1);
    next = static_cast<unsigned>(fd) + 1;
  }
  CloseBetween(next, ~0U);
  (void)!::chdir("/");
}

void LimitResources(uint64_t file_bytes) {
  for (const Limit& limit : kLimits) {
    Lower(limit);
  }
  Lower({RLIMIT_FSIZE, file_bytes});  // does not apply to pipes
}

}  // namespace ptrace_prof
