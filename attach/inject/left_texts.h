// Clears texts that killed collectors left in the unused memory of a target. Such a target has room for a few texts
// only, and would soon be full.
#pragma once

#include <cstddef>

#include "attach/base/result.h"
#include "attach/inject/injection_target.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// Zeroes texts that no thread will read any more: no waiting call in the queue has them as its argument, no frame hook
// is in place, and both have been so for longer than a reader needs. Returns the number of texts cleared. Takes a good
// second if there are any. kGone, kPermissionDenied.
Result<size_t> ReclaimLeftTexts(const InjectionTarget& target, RemoteMemory& memory);

}  // namespace ptrace_prof
