// Runs one capture from beginning to end: what the collector process does.
//
// Opens the target, samples it (and its children) as the request says, writes the trace to the sink, and ends
// when the duration is over, the target is gone, `stop` turns true (a signal) or the sink reports that nobody
// reads any more. Leaves the target as it was in every case.
// Call from one thread. An Error returned here means that nothing was recorded; what goes wrong later ends up in
// the trace's EndInfo.
#pragma once

#include <atomic>

#include "attach/base/result.h"
#include "daemon/collector/target/child_judge.h"
#include "daemon/trace/write/byte_sink.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

class NvmlCounters;
class ScriptFiles;

// What was started for the capture before this process was confined. Outlives it.
struct CaptureAids {
  ScriptFiles* scripts = nullptr;    // makes files for the target, where this process may not (see script_keeper.h)
  NvmlCounters* counters = nullptr;  // of GPUs; null: there shall be none
  ChildJudge judge;                  // of what is followed; empty: nobody has anything against it
  const std::atomic<uint32_t>* stop_sharers = nullptr;  // captures that have max_stopped together; null: this one alone
};

Result<void> RunCapture(const CaptureTask& request, ByteSink& sink, const std::atomic<bool>& stop,
                        const CaptureAids& aids);

}  // namespace ptrace_prof
