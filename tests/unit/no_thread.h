// Makes this process unable to start threads, for good: for a forked child.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace ptrace_prof {

// False: that failed. Root is exempt from the limit, so it becomes another user.
inline bool AllowNoThread() {
  const rlimit none{0, 0};
  return ::setrlimit(RLIMIT_NPROC, &none) == 0 && (::geteuid() != 0 || ::setuid(54321) == 0);
}

}  // namespace ptrace_prof
