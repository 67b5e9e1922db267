// What the GPU shim says of its failure, as an Error with its reason and what can be done.
//
// Pure functions of the numbers in the arena (attach/abi/gpu_arena.h), which are the target's and so may be anything.
#pragma once

#include <cstdint>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct GpuFailureFacts {
  uint32_t error = 0;  // pp_gpu_error
  uint32_t step = 0;   // pp_gpu_step
  int32_t number = 0;
  uint32_t version = 0;         // of CUPTI
  uint32_t driver_version = 0;  // 0: not known
  std::string_view other_tool;  // empty: not known
};

Error GpuFailure(Pid pid, const GpuFailureFacts& facts);
// Why the shim left although nobody had asked it to (`cause`: pp_gpu_leave_cause), with step and number of `facts`;
// Code::kOk where it was asked.
Error GpuEarlyEnd(Pid pid, uint32_t cause, const GpuFailureFacts& facts);
// "becoming CUPTI's subscriber (cuptiSubscribe)"; "" of none that we know.
std::string_view GpuStepWords(uint32_t step);
// What cuptiGetVersion says, as the release of CUDA: "CUDA 12.6".
std::string_view CuptiRelease(uint32_t version);

}  // namespace ptrace_prof
