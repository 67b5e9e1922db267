// A short-lived, confined child that runs as another user, does one piece of work and writes its result.
//
// The child gives up its rights (rights.h), gets limits and the system call filter, and dies with its parent. The
// parent reads what it writes, bounded, kills it if nothing comes for `patience`, and reaps it before this returns. The
// child lives a minute at most. Call from a process with one thread. Treat its output as hostile. Does not know what
// the work is.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "attach/base/types.h"
#include "daemon/collector/sandbox/rights.h"
#include "daemon/trace/write/byte_sink.h"

namespace ptrace_prof {

struct OwnerChildReport {
  std::string bytes;
  std::string ended;  // empty: it finished; otherwise what happened to it, as the end of a sentence
};

// `work` gets the error if the rights could not be given up, or if the kernel refuses access with those that are left.
OwnerChildReport RunAsOwner(const TargetOwner& owner, const std::function<int()>& probe,
                            const std::function<void(const std::optional<Error>& denied, ByteSink& sink)>& work,
                            Nanos patience);

}  // namespace ptrace_prof
