// Copies the stack of one thread when tracing begins: raw, without names.
#pragma once

#include <optional>

#include "attach/base/types.h"
#include "daemon/collector/calls/arming_stop.h"

namespace ptrace_prof {

// nullopt: the thread does not exist any more. `deadline`: for a thread that is stopped meanwhile.
std::optional<ThreadAtArming> CopyThread(const ThreadsToArm& from, const ThreadEntry& entry, RemoteAddr interpreter,
                                         Nanos deadline);

}  // namespace ptrace_prof
