// Arming where threads are many and there is a GIL: who holds it is stopped, and nobody else.
//
// Frames change only in the thread that has the GIL. All stacks are read as they stand, before anybody is stopped,
// until few threads are put on a CPU between two looks; then the holder is stopped, what has moved since is read again,
// and `arm` is called. Where nobody wants the GIL, nobody is stopped, and the GIL's words right before and after `arm`
// say whether that held. Threads that wait are never stopped. Call from the capture's thread.
#pragma once

#include <functional>
#include <optional>

#include "attach/base/result.h"
#include "daemon/collector/calls/arming_stop.h"

namespace ptrace_prof {

// nullopt: not so here, and nothing was armed (no GIL, a kernel without schedstat, threads that come and go too fast):
// all of them are to be stopped. kUnavailable: `arm` was called, and somebody went on just then.
Result<std::optional<ArmingStop>> ArmAtHolder(const ThreadsToArm& threads, const std::function<Result<void>()>& arm);

}  // namespace ptrace_prof
