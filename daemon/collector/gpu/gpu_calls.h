// The names of the runtime's and the driver's calls, and what they start.
//
// The table (gpu_calls_table.cc) is CUDA's interface in numbers. gpu_detail.h selects the recorded calls. Constant
// data; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/trace/gpu.h"

namespace ptrace_prof {

enum class GpuCallKind : uint8_t {
  kOther,
  kKernel,  // starts one kernel
  kGraph,   // starts the nodes of a graph
  kHost,    // runs a host function in a stream
  kCopy,
  kSet,
  kSync,        // waits for the GPU
  kStreamWait,  // makes a stream wait
  kMemory,
  kEvent,
  kBeginCapture,  // captures a stream into a graph
  kEndCapture,
  kInstantiate,  // makes a graph launchable
};

struct GpuCallRow {
  GpuApi api;
  uint32_t number;
  std::string_view name;
  GpuCallKind kind;
};

std::span<const GpuCallRow> GpuCallRows();

// Null: unknown call.
const GpuCallRow* FindGpuCall(GpuApi api, uint32_t number);
// Whether operations on the device carry the call's correlation.
bool StartsGpuWork(GpuCallKind kind);

}  // namespace ptrace_prof
