// The stack of one thread as it is copied when tracing begins: raw, without names.
#pragma once

#include <optional>

#include "attach/base/types.h"
#include "daemon/collector/calls/arming_stop.h"

namespace ptrace_prof {

// nullopt: there is no such thread any more. `deadline`: of one that stands still for it.
std::optional<ThreadAtArming> CopyThread(const ThreadsToArm& from, const ThreadEntry& entry, RemoteAddr interpreter,
                                         Nanos deadline);

}  // namespace ptrace_prof
