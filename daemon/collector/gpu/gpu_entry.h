// Brings the GPU shim into a process: decides how, and whether that may harm the job.
#pragma once

#include <functional>

#include "attach/base/result.h"
#include "attach/inject/gpu_injection.h"
#include "daemon/collector/gpu/gpu_detail.h"
#include "daemon/collector/gpu/gpu_shim_boot.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/source.h"

namespace ptrace_prof {

struct GpuEntry {
  GpuInjection injection;
  bool memory_is_unknown = false;  // how much memory of the GPU is free was not reported
};

// What the user asked for, with the rates of launches whose stacks are taken if calls are not traced (`is_sampled`).
GpuWishes WishesFor(const CaptureContext& context, bool is_sampled);

// Refuses unless forced: a job beside another tool that uses CUPTI, one that has nearly filled its GPU, and others
// (CheckGpuCompany, CheckGpuMemory). `go_on` is asked while the target does not take the shim up. Errors as InjectGpu.
Result<GpuEntry> EnterGpu(const RecordedProcess& target, const CaptureContext& context, const GpuWishes& wishes,
                          const std::function<bool()>& go_on);

}  // namespace ptrace_prof
