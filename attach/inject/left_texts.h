// Texts that collectors left in the unused memory of a target because they were killed there and then: without
// somebody who takes them away, a target that has room for a few is soon full.
#pragma once

#include <cstddef>

#include "attach/base/result.h"
#include "attach/inject/injection_target.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// Makes zero what nobody will read any more: no call that waits in the queue has it as its argument, no frame hook is
// in place, and that has been so for longer than a reader needs. Returns how many texts were there to be taken. Takes a
// good second where there are any. kGone, kPermissionDenied.
Result<size_t> ReclaimLeftTexts(const InjectionTarget& target, RemoteMemory& memory);

}  // namespace ptrace_prof
