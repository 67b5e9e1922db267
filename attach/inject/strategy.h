// The ways to make a process run a text of Python, as a table: the first that applies is taken.
//
// Each row says whether it applies (before anything is written), performs, can be asked whether the text was taken up,
// and is abandoned at any moment by letting go of the RunningText: the target is then as it was, or, where the text can
// no longer be called back, runs one that does nothing. Whether the text did what it should is for the caller to see.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/injection_target.h"
#include "attach/inject/queued_call.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class RunningText {
 public:
  virtual ~RunningText() = default;
  RunningText(const RunningText&) = delete;
  RunningText& operator=(const RunningText&) = delete;

  // True once a thread of the target runs it, or has. kGone.
  virtual Result<bool> Taken() = 0;
  // Reminds the target, without a stop; call every few milliseconds until it is taken.
  virtual Result<void> Remind() = 0;
  // Its effect was seen: nobody reads the text any more.
  virtual void Finish() = 0;
  virtual const StopCost& cost() const = 0;

 protected:
  RunningText() = default;
};

struct InjectionStrategy {
  std::string_view name;
  Result<void> (*applies)(const InjectionTarget& target);
  Result<std::unique_ptr<RunningText>> (*perform)(const InjectionTarget& target, RemoteMemory& memory,
                                                  std::string_view text, Nanos deadline);
};

std::span<const InjectionStrategy> InjectionStrategies();
// The first that applies; where none does, why the last one does not.
Result<const InjectionStrategy*> ChooseStrategy(const InjectionTarget& target);

// queue_strategy.cc: the text in memory that is nobody's, and a call in the queue that runs it.
extern const InjectionStrategy kQueueStrategy;

}  // namespace ptrace_prof
