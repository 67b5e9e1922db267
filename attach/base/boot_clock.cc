#include "attach/base/boot_clock.h"

#include <ctime>

namespace ptrace_prof {

Nanos BoottimeNow() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Nanos(int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
}

}  // namespace ptrace_prof
