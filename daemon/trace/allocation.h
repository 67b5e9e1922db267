// Memory that PyTorch allocated or freed, as its allocators reported it.
//
// Plain data, used by TraceWriter and TraceReader. Times are CLOCK_MONOTONIC of the recorded host.
#pragma once

#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

// c10::DeviceType (c10/core/DeviceType.h): 0 is the CPU, 1 is CUDA.
struct TorchDevice {
  uint8_t type = 0;
  int8_t index = -1;

  bool is_cpu() const { return type == 0; }
  bool operator==(const TorchDevice&) const = default;
};

struct Allocation {
  Nanos when;
  uint64_t address = 0;
  int64_t bytes = 0;  // < 0: freed
  TorchDevice device;
  // Then, in all, on this device. CPU: what was allocated since the recording began and not freed yet.
  uint64_t allocated = 0;
  uint64_t reserved = 0;         // by a caching allocator
  uint64_t operator_handle = 0;  // of the innermost operator on that thread; 0: none, or not known
  // It was allocated before the recording began. bytes > 0: `when` a tensor in it was met, as large as its storage; an
  // allocator did not report it. < 0: then it was freed. It is not in `allocated`.
  bool was_there = false;
};

}  // namespace ptrace_prof
