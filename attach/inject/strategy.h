// The ways to have a thread of a process make one call, as a table: they are tried in its order, as far as they apply.
//
// Each row says whether it applies (before anything is written), performs, can be asked whether the call was taken up,
// and can be abandoned at any moment (Withdraw, or letting go of the RunningCall): the target is then as it was,
// or, where the call can no longer be called back, makes one that does nothing. Whether the call did what it should
// is for the caller to see (run_call.h).
//
// No row makes a stopped thread call anything, not even mmap(2) for a page to put a text into where the target has no
// room for one (CodeCave): from when a thread's registers are exchanged until they are back it needs us to go on well,
// and we may be killed at any instruction. Without room, the rows that need it refuse (Reason::kNoRoomForText).
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

  // True once a thread of the target makes the call, or has. kGone.
  virtual Result<bool> Taken() = 0;
  // Reminds the target, without a stop; every few milliseconds until it is taken.
  virtual Result<void> Remind() = 0;
  virtual Result<Withdrawal> Withdraw() = 0;
  virtual const StopCost& cost() const = 0;

 protected:
  RunningCall() = default;
};

// What is to be brought about: a call, and where it is the call that runs a text, that text. A text that could not be
// put into the target's memory has no call.
struct InjectedCall {
  QueuedFunction function;
  CallGuard guard;
  std::string_view text;
  bool raises = false;  // it may fail with an exception set, which is the job's
};

enum class InjectionTurn : uint8_t {
  kUsual,       // in turns with the others of this kind
  kLastResort,  // once none of those works; for texts only
};

struct InjectionStrategy {
  std::string_view name;
  InjectionTurn turn;
  // Of all that can be known beforehand.
  Result<void> (*applies)(const InjectionTarget& target);
  Result<std::unique_ptr<RunningCall>> (*perform)(const InjectionTarget& target, RemoteMemory& memory,
                                                  const InjectedCall& call, const Patience& patience);
};

std::span<const InjectionStrategy* const> InjectionStrategies();
// Those that apply, at least one; where none does, why the first one does not.
Result<std::vector<const InjectionStrategy*>> ChooseStrategies(const InjectionTarget& target);

// queue_strategy.cc: in the target's own queue of calls. Data only; a few instructions in memory that is nobody's for a
// text in a job that has signal handlers, whose exceptions must pass.
extern const InjectionStrategy kQueueStrategy;
// frame_strategy.cc: at the next call of a function of Python, by any thread, where only the main thread looks at the
// queue. A few instructions in memory that is nobody's.
extern const InjectionStrategy kFrameStrategy;
// script_strategy.cc: by asking each thread to run a script (PEP 768, 3.14+). Needs a file in the target's temporary
// directory for as long as it takes, and no memory.
extern const InjectionStrategy kScriptStrategy;

// Whether one of those that apply can make calls, and not only run texts.
bool CanCall(const InjectionTarget& target);
// That a job may be entered at all. kFailedPrecondition: it does not want to be.
Result<void> CheckWelcome(const InjectionTarget& target);

}  // namespace ptrace_prof
