// Checks that threads named by a user exist, before anything is done to their process. Stateless.
#pragma once

#include <span>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

enum class Descendants : bool { kLeftOut, kToo };

// Checks that each of `threads` belongs to `pid`, or to a descendant of it if those are recorded too. kNotFound names
// those that do not.
Result<void> CheckThreads(Pid pid, std::span<const Tid> threads, Descendants descendants);

}  // namespace ptrace_prof
