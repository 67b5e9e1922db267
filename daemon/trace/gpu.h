// The data about GPUs in a trace: devices, queues, operations, the calls that launched them, and the accounting.
//
// TraceWriter (in the collector) takes these structs and TraceReader (in exporters) returns them. An operation carries
// the facts of its launch (thread, time, Python stack), so no exporter has to join anything. The call itself is a
// separate item, if calls were recorded, with the same correlation. Plain data. All times are CLOCK_MONOTONIC of the
// recorded host. Vendor-neutral: the decoder translates CUPTI's numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

struct GpuDevice {
  Pid pid;  // of the process that sees it under this number
  uint32_t id = 0;
  std::string name;  // "NVIDIA H200"
  std::string uuid;  // "GPU-…" or "MIG-…"
  uint32_t compute_major = 0;
  uint32_t compute_minor = 0;
  uint64_t memory_bytes = 0;
  uint32_t multiprocessors = 0;
  uint32_t max_threads_per_block = 0;
  uint32_t max_threads_per_multiprocessor = 0;
  uint32_t registers_per_block = 0;
  uint32_t registers_per_multiprocessor = 0;
  uint32_t shared_memory_per_block = 0;
  uint32_t shared_memory_per_multiprocessor = 0;
  uint32_t warp_size = 0;
};

inline constexpr uint32_t kNoGpuNumber = UINT32_MAX;  // no particular device, context or stream

// A queue executes its operations in order: a stream. Without a stream it stands for a whole context, or for the
// profiler's own work.
struct GpuQueue {
  Pid pid;
  uint32_t device = kNoGpuNumber;
  uint32_t context = kNoGpuNumber;
  uint32_t stream = kNoGpuNumber;
  int32_t priority = 0;
  bool is_default = false;   // the stream that work goes to when none is named
  bool is_overhead = false;  // time that tracing itself took: no device, context or stream
};

enum class GpuOperationKind : uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kSync,      // the host waited for the queue, or the queue for an event
  kOverhead,  // of tracing, or of loading code
  kGraph,     // a graph as a whole, if its nodes are not recorded
};
inline constexpr size_t kGpuOperationKinds = 6;

// How the stack of a launch was found, which says how far it can be trusted.
enum class GpuStackSource : uint8_t {
  kNone,      // no stack is known
  kExact,     // the launching thread's stack from its traced calls
  kSampled,   // the nearest sample of the launching thread: approximate
  kBackward,  // of the thread that waits for the autograd engine and thus caused the launch
  kLaunch,    // exact: taken at the launch itself, by the launching thread
};
inline constexpr size_t kGpuStackSources = 5;

// As CUPTI numbers them; 0 = unknown.
enum class GpuCopyKind : uint8_t { kUnknown, kHtoD, kDtoH, kHtoA, kAtoH, kAtoA, kAtoD, kDtoA, kDtoD, kHtoH, kPtoP };
enum class GpuMemory : uint8_t {
  kUnknown,
  kPageable,
  kPinned,
  kDevice,
  kArray,
  kManaged,
  kDeviceStatic,
  kManagedStatic
};
enum class GpuSync : uint8_t { kUnknown, kEvent, kStreamWaitEvent, kStream, kContext };

// How a kernel was launched; many launches share one.
struct GpuShape {
  std::array<uint32_t, 3> grid{};
  std::array<uint32_t, 3> block{};
  uint32_t registers_per_thread = 0;
  uint32_t static_shared_memory = 0;
  uint32_t dynamic_shared_memory = 0;
  bool operator==(const GpuShape&) const = default;
};

struct GpuOperation {
  GpuOperationKind kind = GpuOperationKind::kKernel;
  Nanos begin;
  Nanos end;
  std::string_view name;     // "gemm_kernel", "Memcpy HtoD (Pinned -> Device)", "Stream Sync"
  uint64_t correlation = 0;  // the same as its launch's, unique for a process in a trace; 0 = not known
  GpuShape shape;            // of a kernel
  uint64_t bytes = 0;        // of a copy or a memset
  uint32_t value = 0;        // that a memset wrote
  GpuCopyKind copy_kind = GpuCopyKind::kUnknown;
  GpuMemory source = GpuMemory::kUnknown;
  GpuMemory target = GpuMemory::kUnknown;  // of a memset too
  GpuSync sync = GpuSync::kUnknown;
  uint32_t event = 0;       // that was waited for; 0 = none
  uint32_t graph = 0;       // of a node of a graph; 0 = none
  uint64_t graph_node = 0;  // which node
  uint32_t channel = 0;     // the hardware queue
  // About its launch:
  Tid launched_by;              // host tid, 0 = not known
  Nanos launched;               // when that call began; 0 = not known
  StackId stack = kEmptyStack;  // where it was called
  GpuStackSource stack_source = GpuStackSource::kNone;
};

enum class GpuApi : uint8_t { kRuntime, kDriver };
inline constexpr size_t kGpuApis = 2;

// One call of the runtime or the driver by a thread of the target.
struct GpuApiCall {
  GpuApi api = GpuApi::kRuntime;
  Nanos begin;
  Nanos end;
  std::string_view name;     // "cudaLaunchKernel"
  uint32_t function = 0;     // its number (CUPTI's cbid)
  uint64_t correlation = 0;  // shared with the operations it launched
  uint32_t result = 0;       // its return value; 0 = success
  bool launches = false;     // operations have the same correlation
  StackId stack = kEmptyStack;
  GpuStackSource stack_source = GpuStackSource::kNone;
};

enum class GpuAnnotationKind : uint8_t {
  kRange,
  kMark,       // a moment
  kOpenRange,  // a range still open when the recording ended, which is taken as its end
};
inline constexpr size_t kGpuAnnotationKinds = 3;

// A range or mark by which a thread of the target annotates its own work (NVTX).
struct GpuAnnotation {
  GpuAnnotationKind kind = GpuAnnotationKind::kRange;
  Nanos begin;
  Nanos end;
  std::string_view name;
  std::string_view domain;  // the library that makes it; empty: the default domain
};

enum class GpuCaptureState : uint8_t {
  kOff,        // not requested
  kStarting,   // requested; nothing is known yet
  kRecording,  // recording, without known problems
  kRefused,    // could not begin: see reason and message
  kNoKernels,  // calls that launch were seen, but no operation
  kEnded,      // before the capture did: see reason and message
};
inline constexpr size_t kGpuCaptureStates = 6;

// Running totals of one process, written about once a second and at the end; the last one is valid. Its counters are in
// gpu_counters.inc.
struct GpuAccounting {
  Pid pid;
  GpuCaptureState state = GpuCaptureState::kOff;
  Reason reason = Reason::kUnspecified;
  std::string message;  // a sentence for people; empty: no problem
  std::string remedy;
  uint32_t cupti_version = 0;  // as the library numbers itself
#define PP_COUNT(name, ...) uint64_t name = 0;
#include "daemon/trace/gpu_counters.inc"

  uint64_t attributed() const {
    return attributed_exact + attributed_sampled + attributed_backward + attributed_launch;
  }
};

}  // namespace ptrace_prof
