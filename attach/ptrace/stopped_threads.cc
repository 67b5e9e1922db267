#include "attach/ptrace/stopped_threads.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "attach/proc/proc_file.h"
#include "attach/proc/proc_stat.h"
#include "attach/proc/procfs.h"
#include "attach/proc/quiet_wait.h"
#include "attach/ptrace/guarded_seize.h"
#include "attach/ptrace/held_start.h"
#include "attach/ptrace/traced_threads.h"

namespace ptrace_prof {
namespace {

// How long a thread that was killed while we held it may take to die, before it becomes a late one.
constexpr Nanos kPatienceWithTheDying = Nanos::FromMillis(2);

// Another sampler holds a thread for some tens of microseconds, or some ms if it has no CPU. We try again if we meet
// one, for longer if the stop is important.
constexpr Nanos kOthersStop{50'000};
constexpr Nanos kMostOthersStop{3'000'000};
constexpr Nanos kLongOthersStop{100'000'000};
constexpr Nanos kLongestPause{8'000'000};

constexpr Nanos kNextRound{1'000'000};  // for threads missed in the first round, if many threads must not be stopped
                                        // for long

constexpr int kStaysHeld = -1;  // in place of a signal: for a program that is held for longer than this stop
constexpr Nanos kHeldPatience = Nanos::FromMillis(200);

// Waits longer step by step. A stop takes a few microseconds if the thread runs on another CPU (retry at once), a time
// slice if it shares our CPU (yield), and an unbounded time if it does not run (sleep).
class Backoff {
 public:
  bool is_long() const { return looks_ > kLooksAtOnce + kYields; }
  void Wait() {
    constexpr int64_t kLongest = 500'000;
    if (++looks_ <= kLooksAtOnce) {
      return;
    }
    if (looks_ <= kLooksAtOnce + kYields) {
      ::sched_yield();
      return;
    }
    const timespec pause{0, pause_};
    ::nanosleep(&pause, nullptr);
    pause_ = std::min(pause_ * 2, kLongest);
  }

 private:
  static constexpr int kLooksAtOnce = 8;  // of about half a microsecond each
  static constexpr int kYields = 40;

  int looks_ = 0;
  int64_t pause_ = 20'000;
};

Error Gone(Pid pid) { return Because(Reason::kTargetExited, ThingOf(pid) + " has ended", "", ThingOf(pid)); }

// If a process may be read, only another tracer can be the cause.
Error WithTracer(Error refused, Pid pid, Tid tid) {
  const Result<ProcessStatus> thread = ReadProcessStatus(Pid(tid.value));
  const Pid tracer = thread.has_value() ? thread.value().tracer : Pid();
  if (refused.code != Code::kPermissionDenied || tracer.value == 0 || tracer.value == ::getpid()) {
    return refused;
  }
  const Result<ProcessStatus> other = ReadProcessStatus(tracer);
  return Because(Reason::kAlreadyTraced,
                 ThingOf(pid) + " is already traced by " + ThingOf(tracer) + " (" +
                     (other.has_value() ? other.value().name : "name unknown") + "), and Linux allows one tracer",
                 "end that debugger or tracer first, or sample with --nonblocking", ThingOf(pid));
}

}  // namespace

bool StoppedThreads::HasEnded(Pid pid, Tid tid) {
  const Result<std::string> stat = ReadProcFile(ProcTaskPath(pid, tid, "stat"));
  if (stat.has_error()) {
    return stat.error().code == Code::kGone;
  }
  const char state = ParseProcState(stat.value());
  return state == 'Z' || state == 'X';
}

Result<StoppedThreads> StoppedThreads::Stop(Pid pid, Tid tid, Nanos timeout) {
  ReleaseLate();
  const Nanos deadline = MonotonicNow() + timeout;
  StoppedThreads stopped(pid);
  // The thread id alone could belong to another process by now.
  if (::access(ProcTaskPath(pid, tid, "").c_str(), F_OK) == 0) {
    GuardedSeize seize;
    PP_ASSIGN_OR_RETURN([[maybe_unused]] const bool seized, stopped.Seize(tid, seize));
    stopped.Interrupt(tid);
    PP_RETURN_IF_ERROR(stopped.AwaitStops(deadline, Until::kStopped));
  }
  if (stopped.threads_.empty() && HasEnded(pid, Tid(pid.value)) && HasEnded(pid, tid)) {
    return Gone(pid);
  }
  return stopped;
}

Result<StoppedThreads> StoppedThreads::StopAll(Pid pid, Nanos timeout, const std::function<Tid()>& first) {
  return StopAll(pid, {.most = timeout}, first);
}

Result<StoppedThreads> StoppedThreads::StopAllAtOnce(Pid pid, Nanos at_once, const std::function<Tid()>& first) {
  return StopAll(pid, {.most = at_once, .is_enough = true}, first);
}

Result<StoppedThreads> StoppedThreads::StopAtOnce(Pid pid, std::span<const Tid> threads, Nanos at_once,
                                                  const std::function<Tid()>& first) {
  return StopAll(pid, {.most = at_once, .is_enough = true, .only = threads}, first);
}

Result<StoppedThreads> StoppedThreads::StopAll(Pid pid, const Wait& wait, const std::function<Tid()>& first) {
  const Nanos deadline = MonotonicNow() + (wait.is_enough ? kMostOthersStop : kLongOthersStop);
  for (Nanos pause = kOthersStop;; pause = std::min(Nanos(pause.value * 2), kLongestPause)) {
    Result<StoppedThreads> stopped = TryToStopAll(pid, wait, first);
    const bool is_refused = stopped.has_error() && (stopped.error().reason == Reason::kAlreadyTraced ||
                                                    stopped.error().code == Code::kPermissionDenied);
    if (!is_refused || MonotonicNow() + pause > deadline) {
      return stopped;
    }
    const timespec nap{0, pause.value};
    ::nanosleep(&nap, nullptr);
  }
}

Result<StoppedThreads> StoppedThreads::TryToStopAll(Pid pid, const Wait& wait, const std::function<Tid()>& first) {
  ReleaseLate();
  StoppedThreads stopped(pid);
  GuardedSeize seize;
  // A thread that was not in the list yet was made by one that was not stopped yet. Once a whole round finds nothing to
  // seize, no running thread is left that could make one.
  for (bool grew = true, is_first = true; grew; is_first = false) {
    grew = false;
    std::vector<Tid> present(wait.only.begin(), wait.only.end());
    if (wait.only.empty()) {
      PP_ASSIGN_OR_RETURN(present, ListThreads(pid));
    }
    for (const Tid tid : present) {
      if (stopped.Knows(tid)) {
        continue;
      }
      Result<bool> seized = stopped.Seize(tid, seize);
      if (seized.has_error()) {
        stopped.Interrupt(tid);
        (void)stopped.AwaitStops(MonotonicNow() + wait.most, Until::kQuiet);  // only a stopped thread can be released
        { const StoppedThreads let_go = std::move(stopped); }                 // before anything is looked up
        return WithTracer(std::move(seized).error(), pid, tid);
      }
      grew |= seized.value() && wait.only.empty();
    }
    if (!grew && !is_first) {
      break;
    }
    stopped.Interrupt(first ? first() : Tid());
    const Nanos most = is_first || !wait.is_enough ? wait.most : std::min(wait.most, kNextRound);
    if (auto awaited = stopped.AwaitStops(MonotonicNow() + most, Until::kQuiet);
        awaited.has_error() && !wait.is_enough) {
      return std::move(awaited).error();
    }
  }
  if (stopped.threads_.empty() && stopped.seized_.empty()) {
    return Gone(pid);
  }
  return stopped;
}

bool StoppedThreads::Knows(Tid tid) const {
  return std::ranges::find(threads_, tid) != threads_.end() || std::ranges::find(seized_, tid) != seized_.end();
}

Result<bool> StoppedThreads::Seize(Tid tid, GuardedSeize& seize) {
  if (IsHeld(pid_) && tid.value == pid_.value) {
    if (StopHeldStart(MonotonicNow() + kHeldPatience)) {
      threads_.push_back(tid);
      signals_.push_back(kStaysHeld);
      return true;
    }
    LetStartGo();
  }
  const bool is_held = TakeLateThread(tid);
  if (const int err = is_held ? 0 : seize.Seize(tid, traced_); err != 0) {
    if (err == ESRCH || HasEnded(pid_, tid)) {
      return false;
    }
    return ErrnoError(err, "cannot stop thread " + std::to_string(tid.value) + " of " + ThingOf(pid_));
  }
  seized_.push_back(tid);
  if (tid.value != pid_.value) {
    traced_.push_back(tid);
  }
  return true;
}

// Fails only for a thread that has died, which the wait detects.
void StoppedThreads::Interrupt(Tid first) {
  if (const auto its = std::ranges::find(seized_, first); its != seized_.end()) {
    std::iter_swap(its, seized_.begin());
  }
  for (const Tid tid : seized_) {
    ::ptrace(PTRACE_INTERRUPT, tid.value, nullptr, nullptr);
  }
}

void StoppedThreads::CollectStops() {
  bool is_lost = false;
  std::erase_if(seized_, [&](Tid tid) {
    const TraceeStatus status = LookAtTracee(tid);
    if (status.stopped()) {
      threads_.push_back(tid);
      signals_.push_back(status.signal);
    } else if (status.state == TraceeState::kDead) {
      ReapTracee(tid);
    }
    is_lost = is_lost || (status.state == TraceeState::kNotTraced && tid.value != pid_.value);
    return status.state != TraceeState::kRunning;
  });
  const Tid first(pid_.value);
  if (is_lost && !Knows(first) && IsTracedAsFirst(pid_)) {
    seized_.push_back(first);
  }
}

// An exec kills all other threads, and waits until each is reaped. The thread that calls exec then has the id of the
// first thread, stopped or not.
void StoppedThreads::LookAtHeld() {
  for (size_t i = 0; i < threads_.size();) {
    const TraceeStatus status =
        signals_[i] == kStaysHeld ? TraceeStatus{TraceeState::kInterrupted} : LookAtTracee(threads_[i]);
    if (status.stopped()) {
      ++i;
      continue;
    }
    if (status.state == TraceeState::kDead) {
      ReapTracee(threads_[i]);
    } else if (status.state == TraceeState::kRunning) {
      seized_.push_back(threads_[i]);
    }
    const auto at = static_cast<ptrdiff_t>(i);
    threads_.erase(threads_.begin() + at);
    signals_.erase(signals_.begin() + at);
  }
}

Result<void> StoppedThreads::AwaitStops(Nanos deadline, Until until) {
  Backoff backoff;
  for (CollectStops(); !seized_.empty(); CollectStops()) {
    if (until == Until::kQuiet && backoff.is_long() &&
        std::ranges::all_of(seized_, [&](Tid tid) { return WaitsQuietly(pid_, tid); })) {
      return {};
    }
    if (MonotonicNow() > deadline) {
      return Error{Code::kDeadlineExceeded,
                   "thread " + std::to_string(seized_.front().value) + " of process " + std::to_string(pid_.value) +
                       " did not stop in time: it is in an uninterruptible wait, or gets no CPU",
                   "try again, or sample with --nonblocking"};
    }
    backoff.Wait();
    if (backoff.is_long()) {
      LookAtHeld();
    }
  }
  return {};
}

Error StoppedThreads::ExplainRefusal(Pid pid, Tid tid, int refusal) {
  Error refused = ErrnoError(refusal, "cannot stop thread " + std::to_string(tid.value) + " of " + ThingOf(pid));
  refused.remedy = "sample with --nonblocking, which reads without stops (shares of short calls are less certain then)";
  return WithTracer(std::move(refused), pid, tid);
}

size_t StoppedThreads::ReleaseLate() { return ReleaseLateThreads(); }

StoppedThreads::~StoppedThreads() {
  bool killed = false;
  for (size_t i = 0; i < threads_.size(); ++i) {
    if (signals_[i] != kStaysHeld && !DetachTracee(threads_[i], signals_[i])) {
      AddLateThread(pid_, threads_[i]);
      killed = true;
    }
  }
  for (const Tid tid : seized_) {
    AddLateThread(pid_, tid);
  }
  const Nanos deadline = MonotonicNow() + kPatienceWithTheDying;
  Backoff backoff;
  while (ReleaseLateThreads() > 0 && killed && MonotonicNow() < deadline) {
    backoff.Wait();
  }
}

}  // namespace ptrace_prof
