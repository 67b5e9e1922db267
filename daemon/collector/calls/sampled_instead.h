// Makes the request for sampling a process whose calls cannot be traced, with the reason as a sentence. Thread-safe: no
// state.
#pragma once

#include "attach/base/result.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

// `sampled_because` of the result is empty only if there is nothing to say.
CaptureTask AsSamples(const CaptureTask& request, const Error& refusal);

}  // namespace ptrace_prof
