// Starts threads and runs work that may run out of resources. std::thread throws if no thread is available
// (RLIMIT_NPROC, a cgroup's pids.max, threads-max), and much else throws if there is no memory. An uncaught exception
// ends the process, with the work of all its users.
#pragma once

#include <functional>
#include <thread>

#include "attach/base/result.h"

namespace ptrace_prof {

// Fails with OUT_OF_RESOURCES. An exception from `body` ends the process: see Attempt.
Result<std::thread> StartThread(std::function<void()> body);

// Calls `work`. OUT_OF_RESOURCES: it threw; its progress is unknown.
Result<void> Attempt(const std::function<void()>& work);

}  // namespace ptrace_prof
