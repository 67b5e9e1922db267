// Whether the times that CUPTI gives are usable. If CUPTI has no more room for times of the GPU's work, or uses a clock
// unknown to us, they stay unusable, and no times are invented.
//
// One such fault ends by itself: if another tool makes CUPTI of 12.6 update 2 to 13.0 use its own clock, kernels at the
// beginning of a recording and after the GPU was idle have times of 0 (documented by NVIDIA, fixed in 13.1). Updates of
// 12.6 cannot be distinguished.
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
  // The notice to show if that may happen; otherwise "".
  std::string Begin(Pid pid, const GpuLibrary& library);
  // Call about twice a second. The reason to end recording, from what was counted since the last call; `zeros`:
  // operations so far that had a time of 0.
  std::optional<Error> Look(Pid pid, const GpuAccounting& accounting, uint64_t zeros);

 private:
  bool expects_zeros_ = false;
  uint32_t zero_looks_ = 0;  // looks in a row in which most times were zero
  uint64_t zeros_ = 0;
  uint64_t bad_ = 0;
  uint64_t good_ = 0;
};

}  // namespace ptrace_prof
