// Whether PyTorch's profiler runs in a process now, as PyTorch itself notes it (torch.autograd.profiler).
//
// From August 2026 on it uses CUPTI without subscribing, so that CUPTI itself does not say that it is there: records
// would be taken from it without a word. Reads the target without stopping it; what cannot be read, and PyTorch before
// it took that note, count as no.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

bool RunsTorchProfiler(RemoteMemory& memory, const PythonProcess& python);

// Reason::kConflictSubscriber.
Result<void> CheckTorchProfiler(Pid pid, RemoteMemory& memory, const PythonProcess& python);

}  // namespace ptrace_prof
