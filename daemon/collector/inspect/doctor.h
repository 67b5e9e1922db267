// Finds out what works on this node, and for one process where there is one, into a trace: the verb kDoctor of the
// collector.
//
// The node is looked at with the rights of the caller, by reading /proc and /sys and asking the kernel; that is no
// target's text. Then, for a process, `harden` gives up the rights as for a capture of it, and only after that is its
// memory read. `free_gpu_memory` is asked last, and only of a process that uses CUDA.
#pragma once

#include <functional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/collector/inspect/process_checks.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

// `pid` may be 0: the node only. What is missing is no failure of the diagnosis.
void Diagnose(Pid pid, const std::function<Result<void>()>& harden, const FreeGpuMemory& free_gpu_memory,
              TraceWriter& writer);

}  // namespace ptrace_prof
