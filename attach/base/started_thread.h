// Threads and work that may find no resources left. Where there is no thread to be had (RLIMIT_NPROC, a cgroup's
// pids.max, threads-max) std::thread throws, and where there is no memory so does much else; an exception that nobody
// catches ends the process, with all that others have in it.
#pragma once

#include <functional>
#include <thread>

#include "attach/base/result.h"

namespace ptrace_prof {

// OUT_OF_RESOURCES: there is none. What `body` throws ends the process: see Attempt.
Result<std::thread> StartThread(std::function<void()> body);

// Calls it. OUT_OF_RESOURCES: it threw; how far it came is not known.
Result<void> Attempt(const std::function<void()>& work);

}  // namespace ptrace_prof
