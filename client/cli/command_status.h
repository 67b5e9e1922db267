// Ends our process as the command that we started ended: waits for it, hands signals on, passes its status through.
#pragma once

#include "client/cli/capture_backend.h"
#include "client/cli/exit_code.h"
#include "client/cli/interrupts.h"

namespace ptrace_prof {

// The status to exit with: the command's, or `ours` when the command succeeded. Where a signal ended the command, the
// same one ends us, so that a shell sees what it would have seen without us.
int ExitAsCommand(CaptureStream& stream, Interrupts& interrupts, ExitCode ours);

}  // namespace ptrace_prof
