// Calendar time, for people and for other hosts; never for measuring (see MonotonicNow).
#pragma once

#include "attach/base/types.h"

namespace ptrace_prof {

// Now on CLOCK_REALTIME, since the epoch.
Nanos RealtimeNow();

}  // namespace ptrace_prof
