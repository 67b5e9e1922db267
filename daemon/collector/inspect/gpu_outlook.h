// What `record --gpu` of a process would meet, as far as it can be seen without entering it: the refusals that are
// known beforehand, by the reason that the capture would give.
//
// Facts are gathered from /proc, the target's mappings and its environment (all its own text, so hostile) without
// stopping it; judging them is a pure function. What only CUPTI itself can say (a tool that has it already without a
// trace of its own, a virtual or confidential GPU) stays open.
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

// The release of CUDA that a CUPTI belongs to.
struct CudaRelease {
  int major = 0;
  int minor = 0;
  auto operator<=>(const CudaRelease&) const = default;
};

struct GpuOutlook {
  Result<GpuLibraryPlace> library;
  std::optional<CudaRelease> release;  // of that library; minor -1: only the first number is known
  bool crashes_jobs = false;           // that library is known to: the first of CUDA 13.0
  bool has_driver = false;             // the driver's library is mapped: it has begun to use CUDA
  std::string other_tool;              // that has brought itself in for CUPTI; empty: none is seen
  bool uses_mps = false;
  std::optional<int> driver;  // first number of the version of that library, else of the kernel's module, if they say
  // What only the interpreter knows; the caller sets it: CheckTorchProfiler.
  Result<void> torch_profiler{};
};

// By the name of its file: "libcupti.so.12", "libcupti.so.2024.1.1", "libcupti.so.11.2". Nothing: it does not
// tell, or is newer than what we know.
std::optional<CudaRelease> CuptiReleaseOf(std::string_view file_name);

GpuOutlook LookAtGpu(Pid pid, const std::vector<MemoryRegion>& regions);
// Of this what CUPTI itself would not refuse: it is one tool's alone, and there must be one of it in the process.
Result<void> CheckGpuCompany(Pid pid, const GpuOutlook& outlook);
// But for the memory of the GPU: CheckGpuMemory (gpu_library.h).
Check JudgeGpu(Pid pid, const GpuOutlook& outlook);
// Of a process that may be recorded: with so much of its GPU's memory free.
Check JudgeGpuMemory(Pid pid, int64_t free_bytes, Check otherwise);

}  // namespace ptrace_prof
