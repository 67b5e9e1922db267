// Makes a thread of a target run a call or a Python text, and waits for the effect.
//
// The strategies (strategy.h) take turns: each gets a short turn, and the last one gets the rest of the time. Waiting
// costs no stop. A call that was not taken up in the end is taken back. One thread, the one that may trace.
#pragma once

#include <functional>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/injection_target.h"
#include "attach/inject/queued_call.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// So long after its call was taken, no thread reads a text any more, even on a busy machine: the reader copies it
// first.
inline constexpr Nanos kReadingTime = Nanos::FromSeconds(1);

struct RunReport {
  std::string_view way;    // name of the last strategy that worked
  StopCost stops;          // of all strategies
  bool cut_short = false;  // the last text ran to its end without its effect: a signal handler of the job raised in it
};

// Returns true once the effect has been seen.
using EffectSeen = std::function<Result<bool>()>;

// kDeadlineExceeded: no thread took the call up. kFailedPrecondition: one did, without effect. kCancelled: by go_on.
Result<void> RunCall(const InjectionTarget& target, RemoteMemory& memory, const QueuedFunction& call,
                     const CallGuard& guard, const Patience& patience, const EffectSeen& seen, RunReport* report);

// The same for a Python text, which is put into unused memory meanwhile.
Result<void> RunText(const InjectionTarget& target, RemoteMemory& memory, std::string_view text,
                     const Patience& patience, const EffectSeen& seen, RunReport* report);

}  // namespace ptrace_prof
