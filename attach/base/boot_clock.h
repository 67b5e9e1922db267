// Time since the machine began, its suspensions included: for how long something has been, whatever happened to the
// date.
#pragma once

#include "attach/base/types.h"

namespace ptrace_prof {

// Now on CLOCK_BOOTTIME.
Nanos BoottimeNow();

}  // namespace ptrace_prof
