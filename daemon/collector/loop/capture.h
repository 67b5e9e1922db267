// Runs one capture from beginning to end. This is what the collector process does.
//
// Opens the target, records it as the request says and writes the trace to the sink. Ends when the duration is over,
// the target is gone, `stop` is set (a signal) or the reader of the sink is gone. The target is left as it was in every
// case. Call from one thread. A returned Error means that nothing was recorded; later errors are in the trace's
// EndInfo.
#pragma once

#include <atomic>

#include "attach/base/result.h"
#include "daemon/collector/target/child_judge.h"
#include "daemon/trace/write/byte_sink.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

class NvmlCounters;
class ScriptFiles;

// Helpers that were started before this process was confined. They outlive the capture.
struct CaptureAids {
  ScriptFiles* scripts = nullptr;    // makes files for the target, as this process may not (see script_keeper.h)
  NvmlCounters* counters = nullptr;  // of GPUs; null: not wanted
  ChildJudge judge;                  // decides which children may be recorded; empty: all
  const std::atomic<uint32_t>* stop_sharers =
      nullptr;  // number of captures that share max_stopped; null: this one alone
};

Result<void> RunCapture(const CaptureTask& request, ByteSink& sink, const std::atomic<bool>& stop,
                        const CaptureAids& aids);

}  // namespace ptrace_prof
