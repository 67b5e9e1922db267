// Checks limits and policies of the job that an injection could hit, before anything is done in the job. The job's own
// calls get what the injection needs, so the job would be short of it, or be killed for it.
#pragma once

#include <cstdint>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct JobNeeds {
  uint64_t shared_bytes = 0;   // of the memory file that the job shares with us
  uint64_t private_bytes = 0;  // in addition to it
};

// kFailedPrecondition, with the name of the limit and how to raise it. `force`: ignore system call filters, whose
// content cannot be read.
Result<void> CheckJobLimits(Pid pid, const JobNeeds& needs, bool force);

}  // namespace ptrace_prof
