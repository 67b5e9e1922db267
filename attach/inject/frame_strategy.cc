// Makes the call at the next call of a Python function, in the first thread that makes one. For versions in which only
// the main thread checks the queue, while that thread waits.
//
//   hooked ──► calling ──► done      by a thread of the target, which has put the hook back first
//      └─────► taken back            by us, under a stop
//
// This strategy does not begin if another tool uses the interpreter's hook. Our instructions (frame_thunk.h) are
// written before the hook leads to them, and wiped only when no thread can be in them. If we are killed, the first
// thread that reaches them still restores the hook.
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "attach/inject/code_cave.h"
#include "attach/inject/eval_breaker.h"
#include "attach/inject/frame_thunk.h"
#include "attach/inject/queued_call.h"
#include "attach/inject/strategy.h"
#include "attach/inject/timed_stop.h"
#include "attach/ptrace/tracee_code.h"

namespace ptrace_prof {
namespace {

Result<void> FrameApplies(const InjectionTarget& target) {
  PP_RETURN_IF_ERROR(kQueueStrategy.applies(target));
  if (!target.main_thread_only || !target.frame_hook || target.frame_hook->slot.IsNull() ||
      target.frame_hook->function.IsNull() || target.frame_hook->code_tails.empty() ||
      MakeFrameThunk(RemoteAddr(), RemoteAddr(), target.frame_hook->arguments).empty()) {
    return Error{Code::kUnimplemented, "only the main thread of this process can load the tracer", ""};
  }
  return {};
}

class HookedCall final : public RunningCall {
 public:
  HookedCall(const InjectionTarget& target, RemoteMemory& memory, CodeCave context, RemoteAddr code)
      : pid_(target.pid),
        memory_(memory),
        breaker_(target.queue.breaker),
        hook_(*target.frame_hook),
        context_(std::move(context)),
        code_(code) {}
  ~HookedCall() override {
    static_cast<void>(Withdraw().has_value());
    const bool wiped =
        !written_ || RetryStops([&] { return TryWipe(); }, NotStopped(), MonotonicNow() + kWipePatience).has_value();
    if (!wiped) {
      context_.LeaveText();  // a thread may still be among the instructions
    }
  }

  Result<void> Begin(const InjectedCall& call, const Patience& patience) {
    call_ = call.function;
    raises_ = call.raises ? UINT32_MAX : 0;
    return RetryStops([&] { return TryHook(call.guard, patience); }, NotStopped(), patience);
  }

  Result<bool> Taken() override {
    PP_ASSIGN_OR_RETURN(const ThunkState state, State());
    return state != ThunkState::kWaiting;
  }
  Result<void> Remind() override { return {}; }
  Result<Withdrawal> Withdraw() override {
    Withdrawal withdrawal = Withdrawal::kTaken;
    if (hooked_) {
      PP_RETURN_IF_ERROR(
          RetryStops([&] { return TryUnhook(&withdrawal); }, NotStopped(), MonotonicNow() + kWipePatience));
    }
    return hooked_was_taken_back_ ? Withdrawal::kTakenBack : withdrawal;
  }
  const StopCost& cost() const override { return cost_; }

 private:
  Result<ThunkState> State() const {
    uint32_t state = 0;
    switch (memory_.ReadValue(context_.address() + offsetof(ThunkContext, state), &state)) {
      case ReadStatus::kOk: return static_cast<ThunkState>(state);
      case ReadStatus::kGone: return ErrnoError(ESRCH, fmt::format("cannot read process {}", pid_.value));
      case ReadStatus::kDenied:
      case ReadStatus::kFault: break;
    }
    return ErrnoError(EPERM, fmt::format("cannot read process {}", pid_.value));
  }

  Result<bool> TryHook(const CallGuard& guard, const Patience& patience) {
    PP_ASSIGN_OR_RETURN(StoppedThreads threads, StopForAMoment(pid_));
    const TimedStop stop(std::move(threads), cost_);
    uint64_t now = 0;
    if (memory_.ReadValue(hook_.slot, &now) != ReadStatus::kOk || !GuardHolds(memory_, guard)) {
      return Error{Code::kGone, "the target has become another program", ""};
    }
    if (now != 0 && now != hook_.function.value) {
      return Because(Reason::kForeignFrameHook,
                     fmt::format("another tool has replaced the frame evaluation of process {} (PEP 523)", pid_.value),
                     "Stop that tool, try again when the main thread runs Python code, or sample instead.",
                     ThingOf(pid_));
    }
    PP_ASSIGN_OR_RETURN(const bool may_begin, patience.may_begin());
    if (!may_begin) {
      return false;
    }
    // Bits that were set before must not block the thread that makes the call once its calls are traced. The main
    // thread itself detects waiting calls when it continues.
    RemoteWriter writer(pid_);
    PP_RETURN_IF_ERROR(ClearEvalBreaker(memory_, writer, breaker_));
    const ThunkContext context{hook_.slot.value, now, call_.function.value, call_.argument.value, code_.value, 0,
                               raises_};
    PP_RETURN_IF_ERROR(context_.Put({reinterpret_cast<const char*>(&context), sizeof context}));
    thunk_ = MakeFrameThunk(context_.address(), hook_.function, hook_.arguments);
    written_ = true;
    PP_RETURN_IF_ERROR(WriteCode(stop.any(), code_, thunk_));
    original_ = now;
    hooked_ = true;
    was_hooked_ = true;
    PP_RETURN_IF_ERROR(writer.WriteValue(hook_.slot, code_.value));
    return true;
  }

  Result<bool> TryUnhook(Withdrawal* withdrawal) {
    PP_ASSIGN_OR_RETURN(StoppedThreads threads, StopForAMoment(pid_));
    const TimedStop stop(std::move(threads), cost_);
    PP_ASSIGN_OR_RETURN(const ThunkState state, State());
    uint64_t now = 0;
    hooked_ = false;
    if (state != ThunkState::kWaiting || memory_.ReadValue(hook_.slot, &now) != ReadStatus::kOk || now != code_.value) {
      return true;
    }
    PP_RETURN_IF_ERROR(PutBack());
    *withdrawal = Withdrawal::kTakenBack;
    return true;
  }

  // The order matters: if we are killed in between, a thread that already has the address makes the call, and no other
  // thread can reach it. With both writes done, such a thread finds the call marked as made.
  Result<void> PutBack() {
    RemoteWriter writer(pid_);
    PP_RETURN_IF_ERROR(writer.WriteValue(hook_.slot, original_));
    PP_RETURN_IF_ERROR(writer.WriteValue(context_.address() + offsetof(ThunkContext, state),
                                         static_cast<uint32_t>(ThunkState::kDone)));
    hooked_was_taken_back_ = true;
    return {};
  }

  // Wipes the instructions, once no thread is or can get into them. Returns false while a thread is in them. They were
  // hooked, and unhooking may have failed.
  Result<bool> TryWipe() {
    PP_ASSIGN_OR_RETURN(StoppedThreads threads, StopForAMoment(pid_));
    const TimedStop stop(std::move(threads), cost_);
    PP_ASSIGN_OR_RETURN(ThunkState state, State());
    uint64_t now = 0;
    // A thread that makes the call restores the hook itself and returns here, so only it may report the end.
    if (state == ThunkState::kWaiting && memory_.ReadValue(hook_.slot, &now) == ReadStatus::kOk && now == code_.value) {
      PP_RETURN_IF_ERROR(PutBack());
      state = ThunkState::kDone;
    }
    bool in_use = state == ThunkState::kCalling || (was_hooked_ && state == ThunkState::kWaiting);
    if (in_use || stop.PointsInto(pid_, code_, code_ + thunk_.size())) {
      return false;
    }
    std::vector<uint8_t> there(thunk_.size());
    if (memory_.Read(code_, there.data(), there.size()) != ReadStatus::kOk || there != thunk_) {
      return true;  // the target has called exec meanwhile
    }
    PP_RETURN_IF_ERROR(WriteCode(stop.any(), code_, std::vector<uint8_t>(thunk_.size())));
    return true;
  }

  Pid pid_;
  RemoteMemory& memory_;
  const EvalBreaker breaker_;
  FrameHook hook_;
  CodeCave context_;
  RemoteAddr code_;
  QueuedFunction call_;
  uint32_t raises_ = 0;  // as in ThunkContext
  std::vector<uint8_t> thunk_;
  uint64_t original_ = 0;
  bool written_ = false;
  bool hooked_ = false;
  bool was_hooked_ = false;
  bool hooked_was_taken_back_ = false;
  StopCost cost_;
};

Result<std::unique_ptr<RunningCall>> PerformInFrame(const InjectionTarget& target, RemoteMemory& memory,
                                                    const InjectedCall& call, const Patience& patience) {
  RemoteAddr code;
  for (const MemoryTail& tail : target.frame_hook->code_tails) {
    code = code.IsNull() ? FindZeros(memory, tail, kMaxThunkBytes) : code;
  }
  if (code.IsNull()) {
    return Because(Reason::kNoRoomForText, fmt::format("process {} has no unused memory for code", target.pid.value),
                   "Try again when its main thread runs Python code, or sample instead.", ThingOf(target.pid));
  }
  PP_ASSIGN_OR_RETURN(CodeCave context, CodeCave::Borrow(target.pid, memory, target.tails, sizeof(ThunkContext) + 1));
  auto hooked = std::make_unique<HookedCall>(target, memory, std::move(context), code);
  PP_RETURN_IF_ERROR(hooked->Begin(call, patience));
  return std::unique_ptr<RunningCall>(std::move(hooked));
}

}  // namespace

const InjectionStrategy kFrameStrategy{"frame hook", InjectionTurn::kUsual, FrameApplies, PerformInFrame};

}  // namespace ptrace_prof
