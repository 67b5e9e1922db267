// Whether the times that CUPTI gives mean anything: once it has no more room for the times of what a GPU does, or goes
// by a clock that is none of ours, it gets no better, and nothing is made up of that.
//
// One per target; one thread.
#pragma once

#include <cstdint>
#include <optional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/gpu.h"

namespace ptrace_prof {

class GpuTimeCheck {
 public:
  // About twice a second. What recording is to be ended for, by what was counted since the last time.
  std::optional<Error> Look(Pid pid, const GpuAccounting& accounting);

 private:
  uint64_t bad_ = 0;
  uint64_t good_ = 0;
};

}  // namespace ptrace_prof
