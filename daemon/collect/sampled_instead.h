// What is asked for where the calls of a process cannot be traced, and the sentence that says why not. Thread-safe: no
// state.
#pragma once

#include "attach/base/result.h"
#include "daemon/trace/capture_request.h"

namespace ptrace_prof {

// `sampled_because` is empty only where there is nothing to be said.
CaptureRequest AsSamples(const CaptureRequest& request, const Error& refusal);

}  // namespace ptrace_prof
