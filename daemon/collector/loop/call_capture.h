// Runs one capture of mode trace from beginning to end: RunCapture's other half.
//
// Everything of RunCapture's contract holds. Children of the process are not traced: they are untouched.
#pragma once

#include <atomic>
#include <optional>

#include "attach/base/result.h"
#include "daemon/collector/loop/capture.h"
#include "daemon/trace/write/byte_sink.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

struct CallCaptureTerms {
  CaptureAids aids;
  // Where there is another way: set when calls cannot be traced, or not without harm. Then nothing is written, and kOk.
  std::optional<Error>* refusal = nullptr;
};

Result<void> RunCallCapture(const CaptureTask& request, ByteSink& sink, const std::atomic<bool>& stop,
                            const CallCaptureTerms& terms);

}  // namespace ptrace_prof
