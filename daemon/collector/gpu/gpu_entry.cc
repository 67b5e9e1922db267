#include "daemon/collector/gpu/gpu_entry.h"

#include <optional>
#include <utility>
#include <vector>

#include "attach/proc/maps.h"
#include "daemon/collector/calls/stub_boot.h"
#include "daemon/collector/inspect/gpu_outlook.h"
#include "daemon/collector/inspect/torch_profiler.h"
#include "daemon/collector/nvml/nvml_counters.h"
#include "daemon/collector/target/patient_open.h"
#include "daemon/collector/target/start_wait.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kShimPatience = Nanos::FromSeconds(5);     // until the shim is loaded
constexpr Nanos kMemoryPatience = Nanos::FromMillis(500);  // until the driver answers
// If calls are not traced: launches per second and thread whose stacks are taken.
constexpr uint32_t kLaunchRate = 200;
constexpr uint32_t kGraphRate = 20;

GpuDetail DetailOf(v1::GpuDetail detail) {
  switch (detail) {
    case v1::GPU_DETAIL_COARSE: return GpuDetail::kCoarse;
    case v1::GPU_DETAIL_FULL: return GpuDetail::kFull;
    default: return GpuDetail::kDefault;
  }
}

}  // namespace

GpuWishes WishesFor(const CaptureContext& context, bool is_sampled) {
  return {.detail = DetailOf(context.request.spec().gpu()),
          .force = context.request.spec().force(),
          .launch_rate = is_sampled ? kLaunchRate : 0,
          .graph_rate = is_sampled ? kGraphRate : 0};
}

Result<GpuEntry> EnterGpu(const RecordedProcess& target, const CaptureContext& context, const GpuWishes& wishes,
                          const std::function<bool()>& go_on) {
  PP_ASSIGN_OR_RETURN(pp_gpu_boot boot, DescribeForGpuShim(target.pid, target.memory, target.process.python, wishes));
  bool memory_is_unknown = false;
  if (!wishes.force) {
    PP_ASSIGN_OR_RETURN(const std::vector<MemoryRegion> regions, ReadMaps(target.pid));
    GpuOutlook outlook = LookAtGpu(target.pid, regions);
    outlook.torch_profiler = CheckTorchProfiler(target.pid, target.memory, target.process.python);
    PP_RETURN_IF_ERROR(CheckGpuCompany(target.pid, outlook));
    // A job that has nearly filled its GPU could run out of memory because of CUPTI.
    const auto free = context.gpus != nullptr ? context.gpus->FreeMemoryOf(target.pid, kMemoryPatience) : std::nullopt;
    memory_is_unknown = !free.has_value();
    if (free.has_value()) {
      PP_RETURN_IF_ERROR(CheckGpuMemory(target.pid, *free));
    }
  }
  PP_ASSIGN_OR_RETURN(InjectionTarget into, DescribeForInjection(target.pid, target.memory, target.process.python));
  into.force = wishes.force;
  into.script_files = context.scripts;
  boot.nonce = MakeNonce();
  PP_ASSIGN_OR_RETURN(GpuShimFile shim, GpuShimFile::Carried());
  shim.Fill(boot);
  PP_ASSIGN_OR_RETURN(GpuInjection injection, InjectGpu(into, target.memory, shim,
                                                        {MonotonicNow() + kShimPatience, go_on,
                                                         StartedStill(target.pid, target.memory, target.process)}));
  return GpuEntry{std::move(injection), memory_is_unknown};
}

}  // namespace ptrace_prof
