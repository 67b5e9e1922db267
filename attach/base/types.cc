#include "attach/base/types.h"

#include <time.h>

namespace ptrace_prof {
namespace {

Nanos ReadClock(clockid_t clock) {
  timespec ts{};
  clock_gettime(clock, &ts);
  return Nanos(static_cast<int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec);
}

}  // namespace

Nanos MonotonicNow() { return ReadClock(CLOCK_MONOTONIC); }
Nanos OwnCpuTime() { return ReadClock(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace ptrace_prof
