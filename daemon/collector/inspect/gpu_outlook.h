// What `record --gpu` of a process would meet, as far as it can be seen without entering it: the refusals that are
// known beforehand, with the reason that the capture would give.
//
// Facts come from /proc, the target's mappings and its environment (all of it the target's text, so hostile), without
// stopping it. Judging them is a pure function. What only CUPTI can say stays open: a tool that already uses it without
// a trace of its own, a virtual or confidential GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/maps.h"
#include "daemon/collector/inspect/gpu_library.h"
#include "daemon/trace/check.h"

namespace ptrace_prof {

// The CUDA release that a CUPTI belongs to.
struct CudaRelease {
  int major = 0;
  int minor = 0;
  auto operator<=>(const CudaRelease&) const = default;
};

struct GpuOutlook {
  Result<GpuLibraryPlace> library;
  std::optional<CudaRelease> release;  // of that library; minor -1: only the major number is known
  bool crashes_jobs = false;           // that library is known to crash jobs: the first of CUDA 13.0
  bool has_driver = false;             // the driver's library is mapped: it has begun to use CUDA
  std::string other_tool;              // another tool that has loaded itself to use CUPTI; empty: none seen
  bool uses_mps = false;
  // First number of the version of the driver's library, or else of the kernel module, if one of them shows it.
  std::optional<int> driver;
  // Known only to the interpreter; set by the caller: CheckTorchProfiler.
  Result<void> torch_profiler{};
};

// By file name: "libcupti.so.12", "libcupti.so.2024.1.1", "libcupti.so.11.2". Nullopt: the name does not show it, or it
// is newer than our table.
std::optional<CudaRelease> CuptiReleaseOf(std::string_view file_name);

GpuOutlook LookAtGpu(Pid pid, const std::vector<MemoryRegion>& regions);
// The part that CUPTI itself would not refuse: CUPTI serves one tool only, and a process must have only one CUPTI.
Result<void> CheckGpuCompany(Pid pid, const GpuOutlook& outlook);
// Everything except the GPU's memory, for which see CheckGpuMemory (gpu_library.h).
Check JudgeGpu(Pid pid, const GpuOutlook& outlook);
// For a process that may be recorded: judges the free memory of its GPU; `otherwise` if it suffices.
Check JudgeGpuMemory(Pid pid, int64_t free_bytes, Check otherwise);

}  // namespace ptrace_prof
