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
};

struct LaunchFailure {
  LaunchStage stage = LaunchStage::kNone;
  int error_number = 0;
};

// For `caller`; `memory`: its line to a MemoryGrantor, closed where there is none. Returns when the program runs, or
// with nothing and why.
std::optional<StartedCollector> StartCollector(const LaunchRequest& request, const CallerIdentity& caller,
                                               const UniqueFd& memory, LaunchFailure& failure);

}  // namespace ptrace_prof
