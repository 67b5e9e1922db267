// Ends our process as the command that we started ended: waits for it, hands signals on, passes its status through.
#pragma once

#include "client/cli/interrupts.h"
#include "client/remote/capture_backend.h"

namespace ptrace_prof {

// The status to exit with. It is the command's even when recording failed: a job must not fail because of its profiler.
// Where a signal ended the command, the same one ends us, so that a shell sees what it would have seen without us.
int ExitAsCommand(CaptureStream& stream, Interrupts& interrupts);

}  // namespace ptrace_prof
