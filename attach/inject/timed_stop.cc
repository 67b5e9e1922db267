#include "attach/inject/timed_stop.h"

#include <time.h>

#include <algorithm>
#include <string>

#include "attach/ptrace/held_start.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kPause = Nanos::FromMillis(1);
constexpr int kLooksForLateThreads = 100;

void Pause() { PauseOrStep(kPause); }

// Threads that did not stop in time can only be let go when they do. Who does not in this time is so at a later stop.
void ReleaseLate() {
  for (int look = 0; look < kLooksForLateThreads && StoppedThreads::ReleaseLate() > 0; ++look) {
    Pause();
  }
}

}  // namespace

void StopCost::Add(Nanos held) {
  ++stops;
  longest = std::max(longest, held);
  total = total + held;
}

void StopCost::Add(const StopCost& other) {
  stops += other.stops;
  longest = std::max(longest, other.longest);
  total = total + other.total;
}

Error NotStopped() { return {Code::kUnavailable, "the threads of the target did not stop", "Try again."}; }

Result<void> RetryStops(const std::function<Result<bool>()>& attempt, const Error& otherwise, Nanos deadline) {
  return RetryStops(attempt, otherwise, Patience{deadline, nullptr});
}

Result<void> RetryStops(const std::function<Result<bool>()>& attempt, const Error& otherwise,
                        const Patience& patience) {
  for (;;) {
    Result<bool> done = attempt();
    ReleaseLate();
    if (done.has_error() && done.error().code != Code::kDeadlineExceeded) {
      return std::move(done).error();
    }
    if (done.has_value() && done.value()) {
      return {};
    }
    if (patience.go_on && !patience.go_on()) {
      return Error{Code::kCancelled, "the capture was ended before its target let us in", ""};
    }
    if (MonotonicNow() > patience.deadline) {
      return done.has_error() ? Error{Code::kUnavailable, done.error().message, "Try again."} : otherwise;
    }
    Pause();
  }
}

}  // namespace ptrace_prof
