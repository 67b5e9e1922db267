// One decoded record of CUPTI: the fields that we use, each copied once out of memory that the target may change.
//
// Plain data. Numbers are CUPTI's; times are on its clock (gpu_clock.h converts them). Fields that a kind of record
// does not have are 0.
#pragma once

#include <array>
#include <cstdint>

namespace ptrace_prof {

// The kinds that are decoded, by CUPTI's numbers.
enum class GpuRecordKind : uint32_t {
  kNone = 0,
  kMemcpy = 1,
  kMemset = 2,
  kDriver = 4,
  kRuntime = 5,
  kDevice = 8,
  kContext = 9,
  kKernel = 10,
  kMarker = 12,
  kOverhead = 17,
  kMemcpyPeer = 22,
  kStream = 37,
  kSync = 38,
  kGraph = 51,
  kJit = 52,
};

struct GpuRecord {
  GpuRecordKind kind = GpuRecordKind::kNone;
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t device = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  uint32_t correlation = 0;
  uint64_t name = 0;    // address in the target: name of a kernel, a device or a marker
  uint64_t domain = 0;  // address in the target: name of a marker's domain
  std::array<uint32_t, 3> grid{};
  std::array<uint32_t, 3> block{};
  uint32_t registers = 0;
  uint32_t static_shared = 0;
  uint32_t dynamic_shared = 0;
  uint64_t graph_node = 0;
  uint32_t graph = 0;
  uint32_t channel = 0;
  uint64_t bytes = 0;      // of a copy; memory size of a device
  uint32_t value = 0;      // value of a memset; number of a call (cbid) or of a marker
  uint32_t copy_kind = 0;  // also the kind of an overhead, a sync or a compilation
  uint32_t source = 0;     // also the kind of object that a marker belongs to
  uint32_t target = 0;
  uint32_t process = 0;                      // of a marker
  uint32_t thread = 0;                       // of a call or a marker
  uint32_t result = 0;                       // of a call or a sync
  uint32_t event = 0;                        // of a sync
  uint32_t priority = 0;                     // of a stream
  uint32_t flags = 0;                        // of a stream or a marker; the default stream of a context
  std::array<uint32_t, 10> device_limits{};  // by GpuLimit
  std::array<uint8_t, 16> uuid{};
  uint32_t is_slice = 0;  // a MIG device, which has the next three
  uint32_t gpu_instance = 0;
  uint32_t compute_instance = 0;
  std::array<uint8_t, 16> slice_uuid{};
};

// Indices of device_limits.
enum class GpuLimit : uint8_t {
  kMultiprocessors,
  kWarpSize,
  kSharedMemoryPerMultiprocessor,
  kRegistersPerMultiprocessor,
  kRegistersPerBlock,
  kSharedMemoryPerBlock,
  kThreadsPerBlock,
  kComputeMajor,
  kComputeMinor,
  kWarpsPerMultiprocessor,
};

}  // namespace ptrace_prof
