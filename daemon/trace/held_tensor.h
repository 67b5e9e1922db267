// A tensor that a training job keeps: of a model or of an optimizer, as it was found in the job's objects.
//
// Plain data, used by TraceWriter and TraceReader.
#pragma once

#include <cstdint>
#include <string>

#include "attach/base/types.h"
#include "daemon/trace/allocation.h"

namespace ptrace_prof {

enum class TensorRole : uint8_t { kParameter, kBuffer, kGradient, kOptimizerState };
inline constexpr size_t kTensorRoles = 4;

struct HeldTensor {
  Pid pid;
  Nanos when;  // it was read then; CLOCK_MONOTONIC of the recorded host
  TensorRole role = TensorRole::kParameter;
  std::string name;   // "layers.0.weight"; of optimizer state with its key: "layers.0.weight exp_avg"
  std::string owner;  // the class of the outermost module, or of the optimizer
  std::string type;   // "float32"
  std::string sizes;  // "[64, 32]"
  TorchDevice device;
  uint64_t address = 0;  // of its storage, which may be shared with others
  int64_t bytes = 0;     // of its storage
};

}  // namespace ptrace_prof
