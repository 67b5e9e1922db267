// Ends our process the way the command ended that we started: waits for it, forwards signals, passes on its status.
#pragma once

#include "client/cli/interrupts.h"
#include "client/remote/capture_backend.h"

namespace ptrace_prof {

// Returns the status to exit with. It is the command's even if recording failed: a job must not fail because of its
// profiler. If a signal killed the command, we kill ourselves with the same signal, so that a shell sees no difference.
int ExitAsCommand(CaptureStream& stream, Interrupts& interrupts);

}  // namespace ptrace_prof
