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
#include "daemon/trace/byte_sink.h"
#include "daemon/trace/capture_request.h"

namespace ptrace_prof {

class ScriptFiles;

// `scripts`: who makes files for the target, where this process may not (null: nobody; see script_keeper.h).
Result<void> RunCapture(const CaptureRequest& request, ByteSink& sink, const std::atomic<bool>& stop,
                        ScriptFiles* scripts = nullptr);

}  // namespace ptrace_prof
