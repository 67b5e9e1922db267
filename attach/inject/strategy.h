// The table of the ways to make a thread of a process run one call. They are tried in its order, as far as they apply.
//
// Each row says whether it applies (before anything is written), performs the call, says whether it was taken up, and
// can be abandoned at any moment (Withdraw, or destroying the RunningCall). The target is then as it was, or, if the
// call can no longer be taken back, makes a call that does nothing. The caller checks whether the call had its effect
// (run_call.h).
//
// No row makes a stopped thread call anything, not even mmap(2) for a page if the target has no room for a text
// (CodeCave). While a thread's registers are exchanged, it depends on us to continue correctly, and we may be killed at
// any instruction. Without room, the rows that need it refuse (Reason::kNoRoomForText).
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/injection_target.h"
#include "attach/inject/queued_call.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class RunningCall {
 public:
  virtual ~RunningCall() = default;
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  // True once a thread of the target makes the call, or has made it. kGone.
  virtual Result<bool> Taken() = 0;
  // Reminds the target, without a stop. Call it every few milliseconds until the call is taken.
  virtual Result<void> Remind() = 0;
  virtual Result<Withdrawal> Withdraw() = 0;
  virtual const StopCost& cost() const = 0;

 protected:
  RunningCall() = default;
};

// The call to be made. If it runs a text, `text` is that text. A text for which the target has no room has no call.
struct InjectedCall {
  QueuedFunction function;
  CallGuard guard;
  std::string_view text;
  bool raises = false;  // the call may fail with an exception set, which belongs to the job
};

enum class InjectionTurn : uint8_t {
  kUsual,       // takes turns with the others of this kind
  kLastResort,  // used once none of those works; for texts only
};

struct InjectionStrategy {
  std::string_view name;
  InjectionTurn turn;
  // Uses only facts that are known beforehand.
  Result<void> (*applies)(const InjectionTarget& target);
  Result<std::unique_ptr<RunningCall>> (*perform)(const InjectionTarget& target, RemoteMemory& memory,
                                                  const InjectedCall& call, const Patience& patience);
};

std::span<const InjectionStrategy* const> InjectionStrategies();
// The strategies that apply, at least one; otherwise the first one's error.
Result<std::vector<const InjectionStrategy*>> ChooseStrategies(const InjectionTarget& target);

// queue_strategy.cc: uses the target's own queue of pending calls. Writes data only. In a job with signal handlers it
// also writes a few instructions into unused memory for a text, so that the handlers' exceptions propagate.
extern const InjectionStrategy kQueueStrategy;
// frame_strategy.cc: at the next call of a Python function, in any thread, if only the main thread checks the queue.
// Writes a few instructions into unused memory.
extern const InjectionStrategy kFrameStrategy;
// script_strategy.cc: asks each thread to run a script (PEP 768, 3.14+). Needs a file in the target's temporary
// directory meanwhile, and no memory.
extern const InjectionStrategy kScriptStrategy;

// Whether a strategy that applies can make calls, and not only run texts.
bool CanCall(const InjectionTarget& target);
// Checks that the job allows an injection. kFailedPrecondition: it does not.
Result<void> CheckWelcome(const InjectionTarget& target);

}  // namespace ptrace_prof
