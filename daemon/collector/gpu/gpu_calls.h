// What is known of the runtime's and the driver's calls: their names, and what they start.
//
// The table (gpu_calls_table.cc) is CUDA's interface in numbers. Which of them are recorded is gpu_detail.h's business.
// Constant data; any thread.
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
  kHost,    // a function of the host, in a stream
  kCopy,
  kSet,
  kSync,        // waits for what the GPU does
  kStreamWait,  // makes a stream wait
  kMemory,
  kEvent,
  kBeginCapture,  // of a stream, into a graph
  kEndCapture,
  kInstantiate,  // makes of a graph what can be launched
};

struct GpuCallRow {
  GpuApi api;
  uint32_t number;
  std::string_view name;
  GpuCallKind kind;
};

std::span<const GpuCallRow> GpuCallRows();

// Null: none that we know.
const GpuCallRow* FindGpuCall(GpuApi api, uint32_t number);
// Whether operations on the device have the call's correlation.
bool StartsGpuWork(GpuCallKind kind);

}  // namespace ptrace_prof
