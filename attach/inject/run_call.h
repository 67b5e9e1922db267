// Has a thread of a target make a call, or run a text of Python, and waits for what comes of it.
//
// One strategy after the other (strategy.h): each gets a short turn, the last one the rest of the time. Waiting costs
// no stop. What was not taken up in the end is called back. One thread, the one that may trace.
#pragma once

#include <functional>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/injection_target.h"
#include "attach/inject/queued_call.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// So long after its call was taken a text is no longer read, however busy the machine is: its reader copies it first.
inline constexpr Nanos kReadingTime = Nanos::FromSeconds(1);

struct RunReport {
  std::string_view way;    // name of the strategy by which it worked, last
  StopCost stops;          // of all
  bool cut_short = false;  // the last text ran to its end without its effect: a signal handler of the job raised in it
};

// True once the effect has come about.
using EffectSeen = std::function<Result<bool>()>;

// kDeadlineExceeded: no thread took it up. kFailedPrecondition: one did, and nothing came of it. kCancelled: go_on.
Result<void> RunCall(const InjectionTarget& target, RemoteMemory& memory, const QueuedFunction& call,
                     const CallGuard& guard, const Patience& patience, const EffectSeen& seen, RunReport* report);

// The same for a text of Python, which is put into memory that is nobody's meanwhile.
Result<void> RunText(const InjectionTarget& target, RemoteMemory& memory, std::string_view text,
                     const Patience& patience, const EffectSeen& seen, RunReport* report);

}  // namespace ptrace_prof
