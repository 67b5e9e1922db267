// Limits of the job's that bringing something into it could break: read before anything is done there.
#pragma once

#include <cstdint>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

// The target makes memory files that grow to that size: above its limit (RLIMIT_FSIZE, ulimit -f) SIGXFSZ would kill
// it. kFailedPrecondition.
Result<void> CheckFileSizeLimit(Pid pid, uint64_t bytes);

}  // namespace ptrace_prof
