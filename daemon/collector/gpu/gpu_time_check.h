// Whether the times that CUPTI gives mean anything: once it has no more room for the times of what a GPU does, or goes
// by a clock that is none of ours, it gets no better, and nothing is made up of that.
//
// One way to have none comes to an end by itself: where another tool has CUPTI of 12.6 update 2 to 13.0 go by a clock
// of its own, kernels at the begin of a recording and after the GPU was idle have times of 0 (NVIDIA says so, and
// that 13.1 mends it). Updates of 12.6 are not told apart.
//
// One per target; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/gpu_arena.h"
#include "daemon/trace/gpu.h"

namespace ptrace_prof {

class GpuTimeCheck {
 public:
  // What is to be told, where that may be so; else "".
  std::string Begin(Pid pid, const GpuLibrary& library);
  // About twice a second. What recording is to be ended for, by what was counted since the last time; `zeros`: of
  // operations, those that had a time of 0.
  std::optional<Error> Look(Pid pid, const GpuAccounting& accounting, uint64_t zeros);

 private:
  bool expects_zeros_ = false;
  uint32_t zero_looks_ = 0;  // one after another in which they were most
  uint64_t zeros_ = 0;
  uint64_t bad_ = 0;
  uint64_t good_ = 0;
};

}  // namespace ptrace_prof
