// `record --detach`: a capture that a daemon carries out and keeps, while we return.
#pragma once

#include "client/remote/capture_backend.h"

namespace ptrace_prof {

// Prints the ID on stdout once the capture has begun; one that cannot begin is an error, and is not kept. The exit
// status.
int RecordDetached(CaptureBackend& backend, const CaptureTask& request, bool quiet);

}  // namespace ptrace_prof
