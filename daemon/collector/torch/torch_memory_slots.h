// Where the libraries of PyTorch report each allocation: the slots that the torch hook takes over.
//
//   libc10       ──ProfiledCPUMemoryReporter::New, Delete──► libc10: the allocator of CPU memory
//   libtorch_cpu ──reportMemoryUsageToProfiler─────────────► libc10: mapped files (tensors shared between processes)
//   libc10_cuda  ──reportMemoryUsageToProfiler─────────────► libc10: the caching allocator of a GPU
//
// Reads the target without stopping it; stateless.
#pragma once

#include <vector>

#include "attach/abi/torch_boot.h"
#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/maps.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// Fills in the slots and their functions. TORCH_UNSUPPORTED: this PyTorch does it otherwise; nothing was filled in.
Result<void> SetMemorySlots(Pid pid, RemoteMemory& memory, const std::vector<MemoryRegion>& regions,
                            pp_torch_boot& boot);

}  // namespace ptrace_prof
