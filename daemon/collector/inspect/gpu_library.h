// Finds the CUDA libraries of a process and its CUPTI before anything is loaded into it.
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
  std::string soname;      // as far as the file name tells
  std::string path;        // in the target's file system
  bool mapped = false;     // false: it has to be loaded
  bool is_unsure = false;  // the process may have another CUPTI: several are mapped, or PyTorch was linked with one
};

// The target's own CUPTI, or the one that belongs to its CUDA if it has mapped CUDA but no CUPTI. Reason::kNoCuda: it
// does not use CUDA. Reason::kCuptiBlocked: it uses CUDA, and there is no CUPTI.
Result<GpuLibraryPlace> FindGpuLibrary(Pid pid, const std::vector<MemoryRegion>& regions);

// Whether it has mapped the driver's library.
bool UsesCuda(Pid pid);

// kLowGpuMemory: with only `free_bytes` free on the GPU of the process, the job might lack the memory that CUPTI takes.
Result<void> CheckGpuMemory(Pid pid, int64_t free_bytes);

// The library that receives the NVTX calls of the process, from its environment at the start; empty: none. Error: the
// environment cannot be read.
Result<std::string> NvtxInjectionOf(Pid pid);

// Whether the job shares its GPU with others through CUDA's MPS.
bool UsesMps(Pid pid);

}  // namespace ptrace_prof
