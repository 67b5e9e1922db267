// Whether the threads that somebody names are there, before anything is done to their process. Stateless.
#pragma once

#include <span>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

enum class Descendants : bool { kLeftOut, kToo };

// Each of `threads` is one of `pid`, or of a process that descends from it where those are recorded too. kNotFound
// names those that are not.
Result<void> CheckThreads(Pid pid, std::span<const Tid> threads, Descendants descendants);

}  // namespace ptrace_prof
