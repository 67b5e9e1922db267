// Starts one collector: forks, takes its rights, and executes our own program as "__collector". Needs one thread.
#pragma once

#include <sys/types.h>

#include <optional>

#include "attach/base/unique_fd.h"
#include "daemon/launcher/caller_identity.h"
#include "daemon/launcher/launch_message.h"

namespace ptrace_prof {

struct StartedCollector {
  pid_t pid = -1;
  UniqueFd stream;   // its trace is read here
  UniqueFd control;  // close it to stop the collector
  UniqueFd pidfd;
  UniqueFd report;  // ends when the program runs; before that it carries a LaunchFailure, if any
};

// `memory` is the collector's line to a MemoryGrantor, closed if there is none. Does not wait for the exec, which the
// user and the kernel can delay for ever. Returns nullopt, with the reason in `failure`, if no process was made.
std::optional<StartedCollector> StartCollector(const LaunchRequest& request, const CallerIdentity& caller,
                                               const UniqueFd& memory, LaunchFailure& failure);

}  // namespace ptrace_prof
