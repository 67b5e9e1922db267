#include "attach/inject/run_call.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "attach/inject/left_texts.h"
#include "attach/inject/slack.h"
#include "attach/inject/strategy.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kRemindEvery = Nanos::FromMillis(5);
constexpr Nanos kTurn = Nanos::FromMillis(10);
constexpr int64_t kShortestPause = 20'000;
constexpr int64_t kLongestPause = 1'000'000;
// So long a call that was taken may go without its effect.
constexpr Nanos kEffectTime = Nanos::FromSeconds(5);

Error NotTaken(const InjectionTarget& target) {
  const int32_t pid = target.pid.value;
  if (target.main_thread_only && !target.frame_hook) {
    return {Code::kDeadlineExceeded,
            fmt::format("the main thread of process {} runs no Python code just now, and no other thread can let us in",
                        pid),
            "Try again when its main thread works, or sample instead."};
  }
  return {Code::kDeadlineExceeded,
          fmt::format("no thread of process {} has come to run Python code: all of them wait, or are in long calls of "
                      "C code",
                      pid),
          "Give it more time, try again when it works, or sample instead."};
}

Error NoEffect(Pid pid) {
  return {Code::kFailedPrecondition,
          fmt::format("process {} ran what was to load the tracer, but it did not come up: its Python may have no "
                      "os.memfd_create, be out of descriptors, or be kept from loading code",
                      pid.value),
          "Sample it instead (record without --mode trace)."};
}

// One call by one strategy, until its effect is seen, or somebody's patience ends.
class Attempt {
 public:
  Attempt(const InjectionTarget& target, RunningCall& running, const Patience& patience, const EffectSeen& seen)
      : target_(target), running_(running), patience_(patience), seen_(seen) {}

  // False: not taken until `deadline`.
  Result<bool> Await(Nanos deadline) {
    Nanos remind_at = MonotonicNow() + kRemindEvery;
    for (int64_t pause = kShortestPause;; pause = std::min(pause * 5 / 4, kLongestPause)) {
      PP_ASSIGN_OR_RETURN(const bool there, seen_());
      if (there) {
        return true;
      }
      PP_ASSIGN_OR_RETURN(const bool taken, running_.Taken());
      const Nanos now = MonotonicNow();
      taken_at_ = taken && taken_at_.value == 0 ? now : taken_at_;
      if (taken && now > taken_at_ + kEffectTime) {
        return NoEffect(target_.pid);
      }
      if (!taken && now > deadline) {
        return false;
      }
      if (patience_.go_on && !patience_.go_on()) {
        return Error{Code::kCancelled, "the capture was ended before its target let us in", ""};
      }
      if (!taken && now > remind_at) {
        PP_RETURN_IF_ERROR(running_.Remind());
        remind_at = now + kRemindEvery;
      }
      const timespec nap{0, pause};
      ::nanosleep(&nap, nullptr);
    }
  }

  // What the call acts on may be in use at this moment.
  bool JustTaken() const { return taken_at_.value == 0 || MonotonicNow() < taken_at_ + kReadingTime; }

 private:
  const InjectionTarget& target_;
  RunningCall& running_;
  const Patience& patience_;
  const EffectSeen& seen_;
  Nanos taken_at_;
};

// True: done. False: it was not taken up, and is called back.
Result<bool> TakeTurn(const InjectionTarget& target, RunningCall& running, const Patience& patience, Nanos deadline,
                      const EffectSeen& seen, bool* in_use) {
  Attempt attempt(target, running, patience, seen);
  Result<bool> done = attempt.Await(deadline);
  while (done.has_value() && !done.value()) {
    PP_ASSIGN_OR_RETURN(const Withdrawal withdrawal, running.Withdraw());
    if (withdrawal == Withdrawal::kTakenBack) {
      return false;
    }
    if (withdrawal == Withdrawal::kLeft) {
      return NotTaken(target);
    }
    done = attempt.Await(deadline);  // taken at the last moment
  }
  if (done.has_error()) {
    const Result<Withdrawal> withdrawal = running.Withdraw();
    *in_use = withdrawal.has_value() && withdrawal.value() == Withdrawal::kTaken && attempt.JustTaken();
  }
  return done;
}

Result<void> Run(const InjectionTarget& target, RemoteMemory& memory, const QueuedFunction& call,
                 const CallGuard& guard, const Patience& patience, const EffectSeen& seen, RunReport* report,
                 bool* in_use) {
  PP_ASSIGN_OR_RETURN(const std::vector<const InjectionStrategy*> strategies, ChooseStrategies(target));
  // In turns, ever longer ones: which of them will come first cannot be known, and each change costs a stop.
  Nanos turn = kTurn;
  for (size_t i = 0; i == 0 || MonotonicNow() < patience.deadline; ++i, turn = turn + turn) {
    const InjectionStrategy* strategy = strategies[i % strategies.size()];
    const bool alone = strategies.size() == 1;
    const Nanos deadline = alone ? patience.deadline : std::min(patience.deadline, MonotonicNow() + turn);
    PP_ASSIGN_OR_RETURN(const std::unique_ptr<RunningCall> running,
                        strategy->perform(target, memory, call, guard, patience.deadline));
    Result<bool> done = TakeTurn(target, *running, patience, deadline, seen, in_use);
    report->way = strategy->name;
    report->stops.Add(running->cost());
    if (done.has_error()) {
      return std::move(done).error();
    }
    if (done.value()) {
      return {};
    }
  }
  return NotTaken(target);
}

Result<Slack> BorrowRoom(const InjectionTarget& target, RemoteMemory& memory, size_t size) {
  Result<Slack> slack = Slack::Borrow(target.pid, memory, target.tails, size);
  if (slack.has_value() || slack.error().code != Code::kResourceExhausted) {
    return slack;
  }
  PP_ASSIGN_OR_RETURN(const size_t reclaimed, ReclaimLeftTexts(target, memory));
  return reclaimed > 0 ? Slack::Borrow(target.pid, memory, target.tails, size) : std::move(slack);
}

}  // namespace

Result<void> RunCall(const InjectionTarget& target, RemoteMemory& memory, const QueuedFunction& call,
                     const CallGuard& guard, const Patience& patience, const EffectSeen& seen, RunReport* report) {
  bool in_use = false;
  return Run(target, memory, call, guard, patience, seen, report, &in_use);
}

Result<void> RunText(const InjectionTarget& target, RemoteMemory& memory, std::string_view text,
                     const Patience& patience, const EffectSeen& seen, RunReport* report) {
  PP_ASSIGN_OR_RETURN(Slack slack, BorrowRoom(target, memory, text.size() + 1));
  PP_RETURN_IF_ERROR(slack.Put(text));
  CallGuard guard{slack.address(), {}, slack.address()};
  std::memcpy(guard.bytes.data(), text.data(), std::min(guard.bytes.size(), text.size()));
  bool in_use = false;
  Result<void> done = Run(target, memory, {target.run_text, slack.address()}, guard, patience, seen, report, &in_use);
  if (in_use) {
    slack.LeaveText();  // whoever reads it must not be cut short
  }
  return done;
}

}  // namespace ptrace_prof
