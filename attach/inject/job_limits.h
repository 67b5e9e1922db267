// Limits and policies of the job's that bringing something into it could run into: read before anything is done there.
// What it needs is had by the job's own calls, so that the job would be short of it, or be killed for it.
#pragma once

#include <cstdint>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct JobNeeds {
  uint64_t shared_bytes = 0;   // of the memory file that it shares with us
  uint64_t private_bytes = 0;  // beside it
};

// kFailedPrecondition, by the name of the limit, with how to raise it. `force`: not kept from it by what may forbid a
// system call, which cannot be looked at.
Result<void> CheckJobLimits(Pid pid, const JobNeeds& needs, bool force);

}  // namespace ptrace_prof
