#include "attach/proc/process_clock.h"

#include <time.h>

namespace ptrace_prof {

std::optional<Nanos> ReadProcessCpuTime(Pid pid) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(pid.value, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return std::nullopt;
  }
  return Nanos(static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec);
}

}  // namespace ptrace_prof
