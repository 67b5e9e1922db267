// A text in borrowed memory, and one call in the target's own queue that runs it. No register is touched, no code
// is changed, no thread is made to do anything where it stands.
#include <fmt/format.h>

#include <cstring>

#include "attach/inject/queued_call.h"
#include "attach/inject/slack.h"
#include "attach/inject/strategy.h"

namespace ptrace_prof {
namespace {

// Once a text was taken, its reader has made a copy of it after so long, however busy the machine is.
constexpr Nanos kReadingTime = Nanos::FromSeconds(1);

Result<void> Applies(const InjectionTarget& target) {
  if (target.debugging_disabled && !target.force) {
    return Error{
        Code::kFailedPrecondition,
        fmt::format("REMOTE_DEBUG_DISABLED: process {} was started with remote debugging disabled", target.pid.value),
        "Sample it instead, or insist with --force."};
  }
  if (target.run_text.IsNull()) {
    return Error{Code::kUnimplemented,
                 fmt::format("the interpreter of process {} does not tell where its functions are", target.pid.value),
                 "Sample it instead (record without --mode trace)."};
  }
  if (target.tails.empty()) {
    return Error{Code::kUnimplemented,
                 fmt::format("process {} has no unused memory to put a text into", target.pid.value),
                 "Sample it instead (record without --mode trace)."};
  }
  return CheckStoppable(target.pid);
}

class QueuedText final : public RunningText {
 public:
  QueuedText(Slack slack, QueuedCall call) : slack_(std::move(slack)), call_(std::move(call)) {}
  ~QueuedText() override {
    const Result<QueuedCall::Withdrawal> withdrawal = finished_ ? QueuedCall::Withdrawal::kTaken : call_.Withdraw();
    // Taken back: nobody will read it. Left: it becomes an empty text. Only who reads it now must not be cut short.
    if (withdrawal.has_value() && withdrawal.value() == QueuedCall::Withdrawal::kTaken && !finished_ &&
        (taken_at_.value == 0 || MonotonicNow() < taken_at_ + kReadingTime)) {
      slack_.LeaveText();
    }
  }

  Result<bool> Taken() override {
    PP_ASSIGN_OR_RETURN(const bool taken, call_.Taken());
    if (taken && taken_at_.value == 0) {
      taken_at_ = MonotonicNow();
    }
    return taken;
  }
  Result<void> Remind() override { return call_.Ring(); }
  void Finish() override { finished_ = true; }
  const StopCost& cost() const override { return call_.cost(); }

 private:
  Slack slack_;  // outlives the call
  QueuedCall call_;
  Nanos taken_at_;
  bool finished_ = false;
};

Result<std::unique_ptr<RunningText>> Perform(const InjectionTarget& target, RemoteMemory& memory, std::string_view text,
                                             Nanos deadline) {
  PP_ASSIGN_OR_RETURN(Slack slack, Slack::Borrow(target.pid, memory, target.tails, text.size() + 1));
  PP_RETURN_IF_ERROR(slack.Put(text));
  CallGuard guard{slack.address(), {}, slack.address()};
  std::memcpy(guard.bytes.data(), text.data(), std::min(guard.bytes.size(), text.size()));
  PP_ASSIGN_OR_RETURN(QueuedCall call, QueuedCall::Put(target.pid, memory, target.queue,
                                                       {target.run_text, slack.address()}, guard, deadline));
  return std::unique_ptr<RunningText>(std::make_unique<QueuedText>(std::move(slack), std::move(call)));
}

}  // namespace

const InjectionStrategy kQueueStrategy{"pending call", Applies, Perform};

}  // namespace ptrace_prof
