// `record --detach`: starts a capture that a daemon carries out and keeps, and returns at once.
#pragma once

#include "client/remote/capture_backend.h"

namespace ptrace_prof {

// Prints the ID on stdout once the capture has begun. A capture that cannot begin is an error, and is deleted. Returns
// the exit status.
int RecordDetached(CaptureBackend& backend, const CaptureTask& request, bool quiet);

}  // namespace ptrace_prof
