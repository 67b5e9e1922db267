// Waits for a condition: true as soon as it holds, false if it does not within a minute.
#pragma once

#include <sched.h>

#include "attach/base/types.h"

namespace ptrace_prof {

template <typename Condition>
bool Eventually(Condition condition) {
  const Nanos deadline = MonotonicNow() + Nanos::FromSeconds(60);
  while (!condition()) {
    if (MonotonicNow() > deadline) {
      return false;
    }
    ::sched_yield();
  }
  return true;
}

}  // namespace ptrace_prof
