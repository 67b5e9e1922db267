// A short-lived child that has become somebody else, confined, to do one piece of work and write what it finds.
//
// The child gives up its rights (rights.h), gets limits and the system call filter, and dies with us. Our side reads
// what it writes, bounded, kills it when nothing comes for `patience`, and reaps it: nothing of it is left when this
// returns. It lives a minute at most. Call from a process with one thread. What the child wrote is to be taken as
// hostile. Knows nothing of what the work is.
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
  std::string ended;  // empty: it came to its end; else what happened to it, as the end of a sentence
};

// `work` gets the error where the rights could not be given up, or where the kernel refuses with those that are left.
OwnerChildReport RunAsOwner(const TargetOwner& owner, const std::function<int()>& probe,
                            const std::function<void(const std::optional<Error>& denied, ByteSink& sink)>& work,
                            Nanos patience);

}  // namespace ptrace_prof
