// Starts one collector: fork, take its rights, our own program again as "__collector". One thread.
#pragma once

#include <sys/types.h>

#include <optional>

#include "attach/base/unique_fd.h"
#include "daemon/launcher/caller_identity.h"
#include "daemon/launcher/launch_message.h"

namespace ptrace_prof {

struct StartedCollector {
  pid_t pid = -1;
  UniqueFd stream;   // to read its trace from
  UniqueFd control;  // close it to stop the collector
  UniqueFd pidfd;
  UniqueFd report;  // ends when the program runs; before that, a LaunchFailure
};

// For `caller`; `memory`: its line to a MemoryGrantor, closed where there is none. Does not wait for the program to
// run, which its user and the kernel can hold up for ever. Nothing, and why, where there is no process.
std::optional<StartedCollector> StartCollector(const LaunchRequest& request, const CallerIdentity& caller,
                                               const UniqueFd& memory, LaunchFailure& failure);

}  // namespace ptrace_prof
