// Waits until a signal ends the thread or its process: for threads and children that a test looks at.
#pragma once

#include <unistd.h>

namespace ptrace_prof {

inline void SitStill() {
  for (;;) {
    ::pause();
  }
}

}  // namespace ptrace_prof
