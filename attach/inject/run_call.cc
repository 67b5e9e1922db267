#include "attach/inject/run_call.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "attach/inject/bootstrap_text.h"
#include "attach/inject/code_cave.h"
#include "attach/inject/left_texts.h"
#include "attach/inject/propagating_text.h"
#include "attach/inject/signal_handlers.h"
#include "attach/inject/strategy.h"
#include "attach/ptrace/held_start.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kRemindEvery = Nanos::FromMillis(5);
constexpr Nanos kTurn = Nanos::FromMillis(10);
constexpr int64_t kShortestPause = 20'000;
constexpr int64_t kLongestPause = 1'000'000;
constexpr int64_t kLongestPauseOfIdle = 25'000'000;
constexpr Nanos kIdleAfter = Nanos::FromSeconds(1);  // a call that waits longer may wait for hours
// How long a taken call may take until its effect is seen; after it has returned, kSeeingTime.
constexpr Nanos kEffectTime = Nanos::FromSeconds(5);
constexpr Nanos kSeeingTime = Nanos::FromMillis(50);

Error NotTaken(const InjectionTarget& target) {
  const int32_t pid = target.pid.value;
  if (target.main_thread_only && !target.frame_hook) {
    return Because(
        Reason::kTargetIdle,
        fmt::format("the main thread of process {} runs no Python code now, and no other thread can be used", pid),
        "Try again when its main thread runs Python code, or sample instead.", ThingOf(target.pid));
  }
  return Because(
      Reason::kTargetIdle,
      fmt::format("no thread of process {} ran Python code in time: all of them wait, or are in long calls of C code",
                  pid),
      "Wait longer, try again when it runs Python code, or sample instead.", ThingOf(target.pid));
}

Error NoEffect(Pid pid) {
  return Because(Reason::kTracerNotLoaded,
                 fmt::format("process {} ran the code that loads the tracer, but the tracer did not start: its Python "
                             "may have no os.memfd_create, no free descriptors, or no right to load code",
                             pid.value),
                 "Sample it instead (record without --mode trace).", ThingOf(pid));
}

// One call by one strategy, until its effect is seen or the patience ends.
class Attempt {
 public:
  Attempt(const InjectionTarget& target, RunningCall& running, const PropagatingText* passing, const Patience& patience,
          const EffectSeen& seen)
      : target_(target), running_(running), passing_(passing), patience_(patience), seen_(seen) {}

  // Returns false if the call was not taken until `deadline`.
  Result<bool> Await(Nanos deadline) {
    const Nanos begin = MonotonicNow();
    Nanos remind_at = begin + kRemindEvery;
    for (int64_t pause = kShortestPause;; pause = std::min(pause * 5 / 4, LongestPause(begin))) {
      PP_ASSIGN_OR_RETURN(const bool there, seen_());
      if (there) {
        return true;
      }
      PP_ASSIGN_OR_RETURN(const bool taken, running_.Taken());
      const Nanos now = MonotonicNow();
      taken_at_ = taken && taken_at_.value == 0 ? now : taken_at_;
      const bool is_over = taken && passing_ != nullptr && passing_->WasRun();
      over_at_ = is_over && over_at_.value == 0 ? now : over_at_;
      if (taken && (now > taken_at_ + kEffectTime || (is_over && now > over_at_ + kSeeingTime))) {
        return NoEffect(target_.pid);
      }
      if (!taken && now > deadline) {
        return false;
      }
      if (patience_.go_on && !patience_.go_on()) {
        return Error{Code::kCancelled, "the capture was ended before it could load code into its target", ""};
      }
      if (!taken && now > remind_at) {
        PP_RETURN_IF_ERROR(running_.Remind());
        remind_at = now + kRemindEvery;
      }
      PauseOrStep(Nanos(pause));
    }
  }

  // Whether a thread may be using the call's argument now.
  bool JustTaken() const { return taken_at_.value == 0 || MonotonicNow() < taken_at_ + kReadingTime; }

 private:
  static int64_t LongestPause(Nanos begin) {
    return MonotonicNow() - begin > kIdleAfter ? kLongestPauseOfIdle : kLongestPause;
  }

  const InjectionTarget& target_;
  RunningCall& running_;
  const PropagatingText* passing_;  // the text that the call runs; null: the call runs something else
  const Patience& patience_;
  const EffectSeen& seen_;
  Nanos taken_at_;
  Nanos over_at_;
};

// Returns true if done, false if no thread took the call up, and it was taken back.
Result<bool> TakeTurn(const InjectionTarget& target, RunningCall& running, const PropagatingText* passing,
                      const Patience& patience, Nanos deadline, const EffectSeen& seen, bool* in_use) {
  Attempt attempt(target, running, passing, patience, seen);
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

// The remaining strategies, in turns. It is unknown which of them will succeed first, and each change costs a stop.
class Turns {
 public:
  explicit Turns(std::vector<const InjectionStrategy*> rows) : rows_(std::move(rows)) {}

  const InjectionStrategy* Next() {  // null: none is left
    const size_t count = Count();
    return count == 0 ? nullptr : rows_[turn_++ % count];
  }
  bool IsAlone() const { return Count() == 1; }
  void Drop(const InjectionStrategy* strategy) { std::erase(rows_, strategy); }
  void DropUsual() {
    std::erase_if(rows_, [](const InjectionStrategy* row) { return row->turn == InjectionTurn::kUsual; });
  }

 private:
  size_t Count() const {
    const auto usual = std::ranges::count(rows_, InjectionTurn::kUsual, &InjectionStrategy::turn);
    return usual > 0 ? static_cast<size_t>(usual) : rows_.size();  // the usual ones come first in the table
  }

  std::vector<const InjectionStrategy*> rows_;
  size_t turn_ = 0;
};

// Errors after which another strategy may still succeed.
bool MayWorkOtherwise(const Error& error) {
  return error.code == Code::kResourceExhausted || error.code == Code::kUnavailable ||
         error.code == Code::kUnimplemented || error.code == Code::kDataLoss;
}

// The strategy was chosen by whether the job has signal handlers, so that must not have changed.
Result<void> CheckHandlers(const InjectionTarget& target) {
  PP_ASSIGN_OR_RETURN(const bool now, HasSignalHandlers(target.pid));
  if (!now || target.signal_handlers) {
    return {};
  }
  return Error{Code::kUnavailable,
               fmt::format("process {} has set signal handlers since it was checked", target.pid.value), "Try again."};
}

struct Run {
  const InjectionTarget& target;
  RemoteMemory& memory;
  const Patience& patience;
  const EffectSeen& seen;
  RunReport* report;
  PropagatingText* passing = nullptr;  // the text that the call runs; null: the call runs something else
  bool in_use = false;

  // `unplaced`: the reason why there is only a text and no call for it.
  Result<void> Through(const InjectedCall& call, std::optional<Error> unplaced) {
    PP_ASSIGN_OR_RETURN(std::vector<const InjectionStrategy*> chosen, ChooseStrategies(target));
    Turns turns(std::move(chosen));
    std::optional<Error> refusal = std::move(unplaced);
    report->cut_short = false;
    if (refusal) {
      turns.DropUsual();
    }
    Nanos turn = kTurn;
    for (bool begun = false; !begun || MonotonicNow() < patience.deadline;) {
      const InjectionStrategy* strategy = turns.Next();
      if (strategy == nullptr) {
        return std::move(*refusal);
      }
      if (passing == nullptr && !call.text.empty()) {
        PP_RETURN_IF_ERROR(CheckHandlers(target));
      }
      const Nanos end = turns.IsAlone() ? patience.deadline : std::min(patience.deadline, MonotonicNow() + turn);
      const Result<std::unique_ptr<RunningCall>> running = strategy->perform(target, memory, call, patience);
      if (running.has_error() && MayWorkOtherwise(running.error())) {
        if (!refusal) {
          refusal = running.error();
        }
        turns.Drop(strategy);
        continue;
      }
      PP_RETURN_IF_ERROR(Outcome(running));
      PP_ASSIGN_OR_RETURN(const bool done, Try(*strategy, *running.value(), end));
      if (done) {
        return {};
      }
      begun = true;
      turn = turn + turn;
    }
    return NotTaken(target);
  }

 private:
  static Result<void> Outcome(const Result<std::unique_ptr<RunningCall>>& running) {
    return running.has_error() ? Result<void>(running.error()) : Result<void>();
  }

  Result<bool> Try(const InjectionStrategy& strategy, RunningCall& running, Nanos end) {
    Result<bool> done = TakeTurn(target, running, passing, patience, end, seen, &in_use);
    report->cut_short =
        done.has_error() && done.error().reason == Reason::kTracerNotLoaded && passing != nullptr && passing->WasRun();
    const Result<Withdrawal> withdrawal = running.Withdraw();  // clearing what is left costs stops too
    if (passing != nullptr && !(withdrawal.has_value() && withdrawal.value() == Withdrawal::kTakenBack)) {
      passing->ExpectCall();
    }
    report->way = strategy.name;
    report->stops.Add(running.cost());
    return done;
  }
};

Result<CodeCave> BorrowRoom(const InjectionTarget& target, RemoteMemory& memory, size_t size) {
  Result<CodeCave> cave = CodeCave::Borrow(target.pid, memory, target.tails, size);
  if (cave.has_value() || cave.error().code != Code::kResourceExhausted) {
    return cave;
  }
  PP_ASSIGN_OR_RETURN(const size_t reclaimed, ReclaimLeftTexts(target, memory));
  return reclaimed > 0 ? CodeCave::Borrow(target.pid, memory, target.tails, size) : std::move(cave);
}

Result<CodeCave> Place(const InjectionTarget& target, RemoteMemory& memory, std::string_view text) {
  if (target.no_queue) {
    return *target.no_queue;
  }
  PP_ASSIGN_OR_RETURN(CodeCave cave, BorrowRoom(target, memory, text.size() + 1));
  PP_RETURN_IF_ERROR(cave.Put(text));
  return cave;
}

// kUnimplemented: the target does not need it.
Result<std::unique_ptr<PropagatingText>> PlacePropagating(const InjectionTarget& target, RemoteMemory& memory,
                                                          std::string_view text, const Patience& patience) {
  auto passing = PropagatingText::Put(target, memory, AsPropagating(text), patience);
  if (passing.has_value() || passing.error().code != Code::kResourceExhausted) {
    return passing;
  }
  PP_ASSIGN_OR_RETURN(const size_t reclaimed, ReclaimLeftTexts(target, memory));
  if (reclaimed > 0) {
    passing = PropagatingText::Put(target, memory, AsPropagating(text), patience);
  }
  if (passing.has_value() || passing.error().code != Code::kResourceExhausted) {
    return passing;
  }
  return Because(Reason::kNoRoomForText,
                 fmt::format("process {} has its own signal handlers, and no room for the code that lets them raise "
                             "exceptions during the injection: {}",
                             target.pid.value, passing.error().message),
                 "Sample it instead (record without --mode trace).", ThingOf(target.pid));
}

Result<void> RunPropagating(Run& run, PropagatingText& passing, std::string_view text) {
  run.passing = &passing;
  Result<void> done = run.Through({passing.call(), passing.guard(), text, true}, std::nullopt);
  run.report->stops.Add(passing.cost());
  return done;
}

Result<void> RunPrinting(Run& run, std::string_view text) {
  PP_RETURN_IF_ERROR(CheckHandlers(run.target));
  Result<CodeCave> cave = Place(run.target, run.memory, text);
  if (cave.has_error()) {
    return run.Through({{}, {}, text}, std::move(cave).error());
  }
  const RemoteAddr at = cave.value().address();
  CallGuard guard{at, {}, at};
  std::memcpy(guard.bytes.data(), text.data(), std::min(guard.bytes.size(), text.size()));
  Result<void> done = run.Through({{run.target.run_text, at}, guard, text}, std::nullopt);
  if (run.in_use) {
    cave.value().LeaveText();  // a thread may still be reading the text
  }
  return done;
}

}  // namespace

Result<void> RunCall(const InjectionTarget& target, RemoteMemory& memory, const QueuedFunction& call,
                     const CallGuard& guard, const Patience& patience, const EffectSeen& seen, RunReport* report) {
  Run run{target, memory, patience, seen, report};
  return run.Through({call, guard, {}}, std::nullopt);
}

Result<void> RunText(const InjectionTarget& target, RemoteMemory& memory, std::string_view text,
                     const Patience& patience, const EffectSeen& seen, RunReport* report) {
  const auto passing = PlacePropagating(target, memory, text, patience);
  if (passing.has_error() && passing.error().code != Code::kUnimplemented) {
    return passing.error();  // otherwise a handler that raises in the text would end the job
  }
  Run run{target, memory, patience, seen, report};
  return passing.has_value() ? RunPropagating(run, *passing.value(), text) : RunPrinting(run, text);
}

}  // namespace ptrace_prof
