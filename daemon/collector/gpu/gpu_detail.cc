#include "daemon/collector/gpu/gpu_detail.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

namespace ptrace_prof {
namespace {

enum Kind : uint8_t {
  kMemcpy = 1,
  kMemset = 2,
  kCallsOfDriver = 4,
  kCallsOfRuntime = 5,
  kDevice = 8,
  kContext = 9,
  kConcurrentKernel = 10,
  kMarker = 12,
  kOverhead = 17,
  kStream = 37,
  kSynchronization = 38,
  kGraphTrace = 51,
  kJit = 52,
};

constexpr std::pair<uint8_t, std::string_view> kKindNames[] = {
    {kMemcpy, "copies"},
    {kMemset, "memsets"},
    {kCallsOfDriver, "calls of the driver"},
    {kCallsOfRuntime, "calls of the runtime"},
    {kDevice, "devices"},
    {kContext, "contexts"},
    {kConcurrentKernel, "kernels"},
    {kMarker, "ranges and marks of NVTX"},
    {kOverhead, "overhead of CUPTI"},
    {kStream, "streams"},
    {kSynchronization, "synchronisations"},
    {kGraphTrace, "replays of graphs"},
    {kJit, "compilations"},
};

constexpr uint8_t kInventory[] = {kDevice, kContext, kStream};
// Without whole graphs (CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 51): enabled in a running job, it crashed jobs at their next
// replay, and one without graphs at the second recording (SIGSEGV; CUDA 13.0 update 1, driver 580.159, H200).
constexpr uint8_t kCoarseKinds[] = {kOverhead, kJit, kConcurrentKernel};
constexpr uint8_t kDefaultKinds[] = {kMemcpy, kMemset, kSynchronization, kOverhead, kJit, kConcurrentKernel};
// Annotations cost per use, and a job may have several for each launch.
constexpr uint8_t kFullKinds[] = {kMarker, kMemcpy, kMemset, kSynchronization, kOverhead, kJit, kConcurrentKernel};

// A range of ids, both ends included.
struct Calls {
  uint16_t first;
  uint16_t last;
  GpuDetail from;  // the lowest level that has them
};

constexpr Calls kRuntime[] = {
    {211, 211, GpuDetail::kCoarse},                                    // cudaLaunchKernel
    {214, 214, GpuDetail::kCoarse},                                    // _ptsz
    {269, 270, GpuDetail::kCoarse},                                    // cudaLaunchCooperativeKernel
    {272, 272, GpuDetail::kCoarse},                                    // …MultiDevice
    {284, 285, GpuDetail::kCoarse},                                    // cudaLaunchHostFunc
    {311, 312, GpuDetail::kCoarse},                                    // cudaGraphLaunch
    {430, 431, GpuDetail::kCoarse},                                    // cudaLaunchKernelExC
    {310, 310, GpuDetail::kCoarse},                                    // cudaGraphInstantiate
    {315, 316, GpuDetail::kCoarse},                                    // cudaStreamBeginCapture
    {319, 320, GpuDetail::kCoarse},                                    // cudaStreamEndCapture
    {418, 418, GpuDetail::kCoarse},                                    // cudaGraphInstantiateWithFlags
    {436, 437, GpuDetail::kCoarse},                                    // cudaGraphInstantiateWithParams
    {443, 443, GpuDetail::kCoarse},                                    // cudaGraphInstantiate (12.0)
    {452, 453, GpuDetail::kCoarse},                                    // cudaStreamBeginCaptureToGraph (12.3)
    {562, 563, GpuDetail::kCoarse},                                    // cudaStreamBeginRecaptureToGraph (13.3)
    {505, 506, GpuDetail::kCoarse},                                    // __cudaLaunchKernel (13.0)
    {550, 551, GpuDetail::kCoarse},                                    // cudaLaunchHostFunc_v2
    {534, 534, GpuDetail::kDefault},                                   // cudaExecutionCtxSynchronize (13.1)
    {544, 544, GpuDetail::kDefault},                                   // cudaExecutionCtxWaitEvent
    {20, 20, GpuDetail::kDefault},                                     // cudaMalloc
    {22, 22, GpuDetail::kDefault},                                     // cudaFree
    {31, 52, GpuDetail::kDefault},                                     // cudaMemcpy…, cudaMemset…
    {131, 131, GpuDetail::kDefault},                                   // cudaStreamSynchronize
    {137, 137, GpuDetail::kDefault},                                   // cudaEventSynchronize
    {142, 145, GpuDetail::kDefault},                                   // cudaMemset3D…, cudaMemcpy3D…
    {147, 147, GpuDetail::kDefault},                                   // cudaStreamWaitEvent
    {160, 163, GpuDetail::kDefault},                                   // cudaMemcpyPeer…
    {165, 165, GpuDetail::kDefault},                                   // cudaDeviceSynchronize
    {215, 236, GpuDetail::kDefault},                                   // copies and sets, _ptds and _ptsz
    {239, 239, GpuDetail::kDefault},                                   // cudaStreamSynchronize_ptsz
    {243, 247, GpuDetail::kDefault},                                   // 3D, cudaStreamWaitEvent_ptsz
    {249, 250, GpuDetail::kDefault},                                   // 3D to a peer
    {373, 376, GpuDetail::kDefault},                                   // cudaMallocAsync, cudaFreeAsync
    {391, 392, GpuDetail::kDefault},                                   // cudaMallocFromPoolAsync
    {482, 485, GpuDetail::kDefault},                                   // cudaMemcpyBatchAsync
    {509, 512, GpuDetail::kDefault}, {554, 557, GpuDetail::kDefault},  // cudaMemcpyWithAttributesAsync
    {135, 135, GpuDetail::kFull},                                      // cudaEventRecord
    {242, 242, GpuDetail::kFull},                                      // _ptsz
    {370, 371, GpuDetail::kFull},                                      // cudaEventRecordWithFlags
};

constexpr Calls kDriver[] = {
    {307, 307, GpuDetail::kCoarse},   // cuLaunchKernel
    {442, 442, GpuDetail::kCoarse},   // _ptsz
    {477, 478, GpuDetail::kCoarse},   // cuLaunchCooperativeKernel
    {480, 480, GpuDetail::kCoarse},   // …MultiDevice
    {514, 515, GpuDetail::kCoarse},   // cuGraphLaunch
    {527, 528, GpuDetail::kCoarse},   // cuLaunchHostFunc
    {652, 653, GpuDetail::kCoarse},   // cuLaunchKernelEx
    {495, 498, GpuDetail::kCoarse},   // cuStreamBeginCapture, cuStreamEndCapture
    {513, 513, GpuDetail::kCoarse},   // cuGraphInstantiate
    {539, 540, GpuDetail::kCoarse},   // cuStreamBeginCapture_v2
    {578, 578, GpuDetail::kCoarse},   // cuGraphInstantiate_v2
    {643, 643, GpuDetail::kCoarse},   // cuGraphInstantiateWithFlags
    {656, 657, GpuDetail::kCoarse},   // cuGraphInstantiateWithParams
    {720, 721, GpuDetail::kCoarse},   // cuStreamBeginCaptureToGraph
    {831, 832, GpuDetail::kCoarse},   // cuLaunchHostFunc_v2
    {846, 847, GpuDetail::kCoarse},   // cuStreamBeginRecaptureToGraph
    {17, 17, GpuDetail::kDefault},    // cuCtxSynchronize
    {121, 121, GpuDetail::kDefault},  // cuEventSynchronize
    {126, 126, GpuDetail::kDefault},  // cuStreamSynchronize
    {216, 216, GpuDetail::kDefault},  // cuMemsetD8Async
    {218, 218, GpuDetail::kDefault},  // …D16Async
    {220, 220, GpuDetail::kDefault},  // …D32Async
    {222, 222, GpuDetail::kDefault},  // …D2D8Async
    {224, 224, GpuDetail::kDefault},  // …D2D16Async
    {226, 226, GpuDetail::kDefault},  // …D2D32Async
    {249, 254, GpuDetail::kDefault},  // cuMemset…
    {276, 295, GpuDetail::kDefault},  // cuMemcpy…, cuStreamWaitEvent
    {305, 306, GpuDetail::kDefault},  // cuMemcpy
    {318, 321, GpuDetail::kDefault},  // cuMemcpyPeer
    {397, 416, GpuDetail::kDefault},  // copies and sets, _ptds
    {418, 433, GpuDetail::kDefault},  // copies and sets, _ptsz
    {436, 436, GpuDetail::kDefault},  // cuStreamWaitEvent_ptsz
    {440, 440, GpuDetail::kDefault},  // cuStreamSynchronize_ptsz
    {750, 750, GpuDetail::kDefault},  // cuGreenCtxWaitEvent (12.5)
    {756, 756, GpuDetail::kDefault},  // cuCtxWaitEvent
    {776, 779, GpuDetail::kDefault},  // cuMemcpyBatchAsync, cuMemcpy3DBatchAsync (12.8)
    {796, 799, GpuDetail::kDefault},  // their _v2
    {800, 800, GpuDetail::kDefault},  // cuCtxSynchronize_v2
    {837, 840, GpuDetail::kDefault},  // cuMemcpyWithAttributesAsync, cuMemcpy3DWithAttributesAsync
    {119, 119, GpuDetail::kFull},     // cuEventRecord
    {441, 441, GpuDetail::kFull},     // _ptsz
    {587, 588, GpuDetail::kFull},     // cuEventRecordWithFlags
};

template <size_t size>
constexpr size_t CountAll(const Calls (&rows)[size]) {
  size_t count = 0;
  for (const Calls& row : rows) {
    count += row.last - row.first + 1U;
  }
  return count;
}
static_assert(CountAll(kRuntime) < PP_GPU_MAX_CALLBACKS && CountAll(kDriver) < PP_GPU_MAX_CALLBACKS);
static_assert(std::size(kFullKinds) < PP_GPU_MAX_KINDS);

void SetCalls(std::span<const Calls> rows, GpuDetail detail, std::span<uint16_t> calls) {
  std::ranges::fill(calls, uint16_t{0});
  size_t count = 0;
  for (const Calls& row : rows) {
    for (uint16_t call = row.first; row.from <= detail && call <= row.last; ++call) {
      calls[count++] = call;
    }
  }
}

void SetKinds(std::span<const uint8_t> kinds, std::span<uint8_t> to) {
  std::ranges::fill(to, uint8_t{0});
  std::ranges::copy(kinds, to.begin());
}

constexpr std::span<const uint8_t> kKinds[] = {kCoarseKinds, kDefaultKinds, kFullKinds};

}  // namespace

std::string GpuKindName(size_t kind) {
  const auto found = std::ranges::find(kKindNames, kind, &std::pair<uint8_t, std::string_view>::first);
  return found != std::end(kKindNames) ? std::string(found->second) : fmt::format("records of kind {}", kind);
}

GpuWantedCalls::GpuWantedCalls(GpuDetail detail) {
  const auto add = [&](std::span<const Calls> rows, std::bitset<kMostCalls>& wanted) {
    for (const Calls& row : rows) {
      for (size_t call = row.first; row.from <= detail && call <= row.last; ++call) {
        wanted.set(call);
      }
    }
  };
  add(kRuntime, wanted_[0]);
  add(kDriver, wanted_[1]);
}

bool GpuWantedCalls::Has(const GpuRecord& record) const {
  const bool is_runtime = record.kind == GpuRecordKind::kRuntime;
  if (!is_runtime && record.kind != GpuRecordKind::kDriver) {
    return true;
  }
  return record.value < kMostCalls && wanted_[is_runtime ? 0 : 1].test(record.value);
}

void SetGpuDetail(GpuDetail detail, pp_gpu_boot* boot) {
  SetKinds(kInventory, boot->inventory_kinds);
  SetKinds(kKinds[static_cast<size_t>(detail)], boot->device_kinds);
  SetCalls(kRuntime, detail, boot->runtime_callbacks);
  SetCalls(kDriver, detail, boot->driver_callbacks);
}

}  // namespace ptrace_prof
