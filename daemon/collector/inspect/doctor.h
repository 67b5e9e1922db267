// Finds out what works on this node, and optionally for one process, and writes it into a trace: the collector's verb
// kDoctor.
//
// The node is checked with the rights of the caller, by reading /proc and /sys and asking the kernel; none of that is
// text of a target. Then `harden` gives up the rights as for a capture of the process, and only after that its memory
// is read. `free_gpu_memory` is called last, and only for a process that uses CUDA.
#pragma once

#include <functional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/collector/inspect/process_checks.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

// `pid` 0: the node only. Missing features are results, not errors.
void Diagnose(Pid pid, const std::function<Result<void>()>& harden, const FreeGpuMemory& free_gpu_memory,
              TraceWriter& writer);

}  // namespace ptrace_prof
