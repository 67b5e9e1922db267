// The boot block of the torch hook for one process: finds PyTorch's functions in it. Reads the target without stopping
// it.
#pragma once

#include "attach/abi/torch_boot.h"
#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/maps.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/calls/tick_clock.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

// Whether the process has loaded PyTorch as a library of its own (libtorch_cpu).
bool HasTorch(const std::vector<MemoryRegion>& regions);
Error NoTorch(Pid pid);

// Beside the operators.
struct TorchWanted {
  bool inputs = false;
  bool memory = false;
  bool execution_trace = false;
};

// Rings, nonce and lease are set as well. NO_TORCH: the process has not loaded PyTorch; TORCH_UNSUPPORTED: it is older
// than 1.13, or linked into something else.
Result<pp_torch_boot> DescribeForTorch(Pid pid, RemoteMemory& memory, const PythonProcess& process, TickClock& clock,
                                       TorchWanted wanted);

}  // namespace ptrace_prof
