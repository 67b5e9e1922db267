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
#include "daemon/inspect/gpu_library.h"
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
  std::string other_tool;              // that has brought itself in for CUPTI; empty: none is seen
  bool uses_mps = false;
  std::optional<int64_t> free_memory;  // bytes, of its GPU
  std::optional<int> driver;           // first number of the driver's version; nothing: it does not say
};

// By the name of its file: "libcupti.so.12", "libcupti.so.2024.1.1", "libcupti.so.11.2".
std::optional<CudaRelease> CuptiReleaseOf(std::string_view file_name);

GpuOutlook LookAtGpu(Pid pid, const std::vector<MemoryRegion>& regions, std::optional<int64_t> free_memory);
Check JudgeGpu(Pid pid, const GpuOutlook& outlook);

}  // namespace ptrace_prof
