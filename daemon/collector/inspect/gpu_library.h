// Which CUDA libraries a process has mapped, and where its CUPTI is: what can be known before anything is brought in.
//
// Reads /proc and the target's files without stopping it; stateless.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/maps.h"

namespace ptrace_prof {

struct GpuLibraryPlace {
  std::string soname;   // as far as its file's name tells
  std::string path;     // as the target sees it
  bool mapped = false;  // else it is to be loaded
  bool is_unsure =
      false;  // there may be another one in the process: several are mapped, or PyTorch was linked with one
};

// The target's own CUPTI, or, where it has mapped CUDA and no CUPTI, the one that belongs to that. Reason::kNoCuda: it
// does not use CUDA. Reason::kCuptiBlocked: it does, and there is no CUPTI.
Result<GpuLibraryPlace> FindGpuLibrary(Pid pid, const std::vector<MemoryRegion>& regions);

// Whether it has mapped the driver's library.
bool UsesCuda(Pid pid);

// kLowGpuMemory: with so many bytes free where the process computes, what CUPTI takes could be missing to the job.
Result<void> CheckGpuMemory(Pid pid, int64_t free_bytes);

// The library that NVTX calls of the process go to, as its environment named it at the start; empty: nowhere. An error:
// its environment cannot be read.
Result<std::string> NvtxInjectionOf(Pid pid);

// Whether the job shares its GPU with others by CUDA's MPS.
bool UsesMps(Pid pid);

}  // namespace ptrace_prof
