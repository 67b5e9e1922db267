// Whether PyTorch's profiler runs in a process now, from PyTorch's own flag (torch.autograd.profiler).
//
// From August 2026 on the profiler uses CUPTI without subscribing, so CUPTI does not report it, and a capture would
// silently take its records. Reads the target without stopping it. The answer is no if the flag cannot be read or
// PyTorch is too old to have it.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

bool RunsTorchProfiler(RemoteMemory& memory, const PythonProcess& python);

// Error: Reason::kConflictSubscriber.
Result<void> CheckTorchProfiler(Pid pid, RemoteMemory& memory, const PythonProcess& python);

}  // namespace ptrace_prof
