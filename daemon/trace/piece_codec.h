// A window of a recording, and a piece of an execution trace, as messages of extension.proto. Plain functions.
#pragma once

#include <string_view>

#include "attach/base/types.h"
#include "daemon/trace/model.h"
#include "daemon/trace/wire_encoder.h"

namespace ptrace_prof {

struct ExecutionTracePiece {
  Pid pid;
  std::string_view text;
};

void EncodeWindow(const TimeRange& window, WireEncoder& out);
TimeRange DecodeWindow(std::string_view message);
void EncodeExecutionTrace(const ExecutionTracePiece& piece, WireEncoder& out);
ExecutionTracePiece DecodeExecutionTrace(std::string_view message);

}  // namespace ptrace_prof
