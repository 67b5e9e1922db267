// Runs one capture of mode trace from beginning to end: RunCapture's other half.
//
// Everything of RunCapture's contract holds. Children of the process are not traced: they are untouched.
#pragma once

#include <atomic>

#include "attach/base/result.h"
#include "daemon/trace/byte_sink.h"
#include "daemon/trace/capture_request.h"

namespace ptrace_prof {

Result<void> RunCallCapture(const CaptureRequest& request, ByteSink& sink, const std::atomic<bool>& stop);

}  // namespace ptrace_prof
