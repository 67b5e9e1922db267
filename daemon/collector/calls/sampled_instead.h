// What is asked for where the calls of a process cannot be traced, and the sentence that says why not. Thread-safe: no
// state.
#pragma once

#include "attach/base/result.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

// `sampled_because` is empty only where there is nothing to be said.
CaptureTask AsSamples(const CaptureTask& request, const Error& refusal);

}  // namespace ptrace_prof
