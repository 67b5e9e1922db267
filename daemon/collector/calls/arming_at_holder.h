// Arms the tracing of a process with many threads and a GIL by stopping only the holder of the GIL.
//
// Frames change only in the thread that has the GIL. All stacks are read without a stop, again and again until few
// threads are scheduled between two looks. Then the holder is stopped, what has moved since is read again, and `arm` is
// called. If no thread wants the GIL, none is stopped, and the GIL's words right before and after `arm` show whether
// that held. Waiting threads are never stopped. Call from the capture's thread.
#pragma once

#include <functional>
#include <optional>

#include "attach/base/result.h"
#include "daemon/collector/calls/arming_stop.h"

namespace ptrace_prof {

// nullopt: not possible here, and nothing was armed (no GIL, a kernel without schedstat, threads that begin and end too
// fast); stop all threads instead. kUnavailable: `arm` was called, and a thread ran just then.
Result<std::optional<ArmingStop>> ArmAtHolder(const ThreadsToArm& threads, const std::function<Result<void>()>& arm);

}  // namespace ptrace_prof
