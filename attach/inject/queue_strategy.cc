// Makes the call through the target's own queue of pending calls. It changes no register and makes no thread act where
// it is stopped. It writes code only if signal handlers of the job may raise in a text (propagating_text.h).
#include <fmt/format.h>

#include "attach/inject/queued_call.h"
#include "attach/inject/strategy.h"

namespace ptrace_prof {
namespace {

Result<void> QueueApplies(const InjectionTarget& target) {
  PP_RETURN_IF_ERROR(CheckWelcome(target));
  if (target.no_queue) {
    return *target.no_queue;
  }
  if (target.run_text.IsNull()) {
    return Error{Code::kUnimplemented,
                 fmt::format("the functions of the interpreter of process {} were not found", target.pid.value),
                 "Sample it instead (record without --mode trace)."};
  }
  if (target.tails.empty()) {
    return Because(Reason::kNoRoomForText,
                   fmt::format("process {} has no unused memory for the injected code", target.pid.value),
                   "Sample it instead (record without --mode trace).", ThingOf(target.pid));
  }
  return CheckStoppable(target.pid);
}

class CallInQueue final : public RunningCall {
 public:
  explicit CallInQueue(QueuedCall call) : call_(std::move(call)) {}
  Result<bool> Taken() override { return call_.Taken(); }
  Result<void> Remind() override { return call_.Ring(); }
  Result<Withdrawal> Withdraw() override { return call_.Withdraw(); }
  const StopCost& cost() const override { return call_.cost(); }

 private:
  QueuedCall call_;
};

Result<std::unique_ptr<RunningCall>> PerformInQueue(const InjectionTarget& target, RemoteMemory& memory,
                                                    const InjectedCall& call, const Patience& patience) {
  PP_ASSIGN_OR_RETURN(QueuedCall queued,
                      QueuedCall::Put(target.pid, memory, target.queue, call.function, call.guard, patience));
  return std::unique_ptr<RunningCall>(std::make_unique<CallInQueue>(std::move(queued)));
}

}  // namespace

const InjectionStrategy kQueueStrategy{"pending call", InjectionTurn::kUsual, QueueApplies, PerformInQueue};

}  // namespace ptrace_prof
