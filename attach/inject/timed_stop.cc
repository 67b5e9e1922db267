#include "attach/inject/timed_stop.h"

#include <time.h>

#include <algorithm>
#include <string>

#include "attach/base/real_time.h"
#include "attach/proc/proc_file.h"
#include "attach/proc/proc_stat.h"
#include "attach/proc/procfs.h"
#include "attach/proc/thread_activity.h"
#include "attach/ptrace/held_start.h"
#include "attach/ptrace/tracee_code.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kFirstStopPause = Nanos::FromMillis(1);
constexpr Nanos kLongestStopPause = Nanos::FromMillis(64);
constexpr Nanos kMoment = Nanos::FromMillis(5);
constexpr int kLooksForLateThreads = 100;

// A thread that did not stop in time can be released only once it stops. The rest is released at a later stop.
void ReleaseLate() {
  for (int look = 0; look < kLooksForLateThreads && StoppedThreads::ReleaseLate() > 0; ++look) {
    PauseOrStep(kFirstStopPause);
  }
}

// If there are many threads: those that run, and the main thread. nullopt: there are few, or all of them run.
std::optional<std::vector<Tid>> TheRunning(Pid pid) {
  const Result<std::vector<Tid>> threads = ListThreads(pid);
  if (threads.has_error() || threads.value().size() <= kMostStoppedAtOnce) {
    return std::nullopt;
  }
  std::vector<Tid> running;
  for (const Tid tid : threads.value()) {
    const Result<std::string> stat = ReadProcFile(ProcTaskPath(pid, tid, "stat"));
    const char state = stat.has_value() ? ParseProcState(stat.value()) : 'X';
    if (tid.value == pid.value || state == 'R' || state == 'D') {
      running.push_back(tid);
    }
  }
  return running.size() <= kMostStoppedAtOnce ? std::optional(std::move(running)) : std::nullopt;
}

Result<bool> AtOnce(const std::function<Result<bool>()>& attempt) {
  const UrgentPriority urgent;
  return attempt();
}

}  // namespace

Result<StoppedThreads> StopForAMoment(Pid pid) {
  const std::optional<std::vector<Tid>> running = TheRunning(pid);
  PP_ASSIGN_OR_RETURN(StoppedThreads stopped, running.has_value()
                                                  ? StoppedThreads::StopAtOnce(pid, *running, kMoment, nullptr)
                                                  : StoppedThreads::StopAll(pid, kMoment));
  if (stopped.threads().empty()) {
    return Error{Code::kDeadlineExceeded, NotStopped().message, NotStopped().remedy};
  }
  return stopped;
}

bool TimedStop::PointsInto(Pid pid, RemoteAddr begin, RemoteAddr end) const {
  // For a thread that waits in a system call, the kernel says where; our instructions make no system call.
  const auto waits_elsewhere = [&](Tid tid) {
    auto activity = ThreadActivity::Open(pid, tid);
    const WaitReason reason = activity.has_value() ? activity.value().Reason() : WaitReason{};
    const RemoteAddr at = reason.instruction_pointer;
    return reason.kind != WaitKind::kStopped && !reason.call.empty() && !at.IsNull() &&
           (at.value < begin.value || at.value >= end.value);
  };
  return !std::ranges::all_of(threads_->coming(), waits_elsewhere) ||
         std::ranges::any_of(threads_->threads(), [&](Tid tid) { return RegistersPointInto(tid, begin, end); });
}

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
  for (Nanos pause = kFirstStopPause;;) {
    Result<bool> done = AtOnce(attempt);
    ReleaseLate();
    if (done.has_error() && done.error().code != Code::kDeadlineExceeded) {
      return std::move(done).error();
    }
    if (done.has_value() && done.value()) {
      return {};
    }
    if (patience.go_on && !patience.go_on()) {
      return Error{Code::kCancelled, "the capture was ended before it could load code into its target", ""};
    }
    if (MonotonicNow() > patience.deadline) {
      return done.has_error() ? Error{Code::kUnavailable, done.error().message, "Try again."} : otherwise;
    }
    PauseOrStep(pause);
    if (done.has_error()) {  // they were stopped for long, without result
      pause = std::min(Nanos(pause.value * 2), kLongestStopPause);
    }
  }
}

}  // namespace ptrace_prof
