#include "daemon/collector/target/cpu_of_others.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr Nanos kUnsure = Nanos::FromMillis(8);  // two ticks of the slowest kernels in use
constexpr clockid_t kSchedulersClock = 2;        // CPUCLOCK_SCHED

// The clock of clock_getcpuclockid(3), which does nothing more than check that the process exists.
clockid_t ClockOf(Pid pid) { return static_cast<clockid_t>(~static_cast<unsigned>(pid.value) << 3) | kSchedulersClock; }

}  // namespace

CpuOfOthers::CpuOfOthers(Pid pid) : clock_(ClockOf(pid)) {}

bool CpuOfOthers::HaveRun(Nanos known) {
  timespec used{};
  if (::clock_gettime(clock_, &used) != 0) {
    return true;
  }
  const Nanos unknown = Nanos(used.tv_sec * 1'000'000'000 + used.tv_nsec) - known;
  if (is_settled_ && unknown - settled_ <= kUnsure) {
    settled_ = std::min(settled_, unknown);
    return false;
  }
  is_settled_ = true;
  settled_ = unknown;
  return true;
}

}  // namespace ptrace_prof
