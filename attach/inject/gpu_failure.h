// Turns a failure of the GPU shim into an Error with its reason and remedy.
//
// Pure functions of the numbers in the arena (attach/abi/gpu_arena.h), which the target controls, so any value is
// possible.
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
  uint32_t driver_version = 0;  // 0: unknown
  std::string_view other_tool;  // empty: unknown
};

Error GpuFailure(Pid pid, const GpuFailureFacts& facts);
// The reason why the shim left without a request (`cause`: pp_gpu_leave_cause), with step and number from `facts`;
// Code::kOk if it was requested.
Error GpuEarlyEnd(Pid pid, uint32_t cause, const GpuFailureFacts& facts);
// "becoming CUPTI's subscriber (cuptiSubscribe)"; "" for an unknown step.
std::string_view GpuStepWords(uint32_t step);
// The CUDA release of a result of cuptiGetVersion: "CUDA 12.6".
std::string_view CuptiRelease(uint32_t version);

}  // namespace ptrace_prof
