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
#include "attach/ptrace/late_threads.h"

namespace ptrace_prof {
namespace {

// How long a thread that was killed while we held it may take to die before it becomes a late one.
constexpr Nanos kPatienceWithTheDying = Nanos::FromMillis(2);

// Waits a little longer from time to time: a stop takes a few microseconds when the thread runs on another CPU (we look
// again at once), a slice when it shares ours (we yield), and as long as the scheduler likes when it does not run.
class Backoff {
 public:
  void Wait() {
    constexpr int kLooksAtOnce = 8;  // of about half a microsecond each
    constexpr int kYields = 40;
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
  int looks_ = 0;
  int64_t pause_ = 20'000;
};

// The kernel refuses to seize a thread that has ended but is not reaped with the same EPERM as one that is protected.
bool HasEnded(Pid pid, Tid tid) {
  const Result<std::string> stat = ReadProcFile(ProcTaskPath(pid, tid, "stat"));
  if (stat.has_error()) {
    return stat.error().code == Code::kGone;
  }
  const char state = ParseProcState(stat.value());
  return state == 'Z' || state == 'X';
}

Error Gone(Pid pid) { return Because(Reason::kTargetExited, ThingOf(pid) + " has ended", "", ThingOf(pid)); }

// Where a process may be read, another tracer is the one cause that we can meet.
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
                 "end that debugger or tracer first, or sample without --blocking", ThingOf(pid));
}

}  // namespace

Result<StoppedThreads> StoppedThreads::Stop(Pid pid, Tid tid, Nanos timeout) {
  ReleaseLate();
  const Nanos deadline = MonotonicNow() + timeout;
  StoppedThreads stopped(pid);
  // A thread id alone could by now be that of another process.
  if (::access(ProcTaskPath(pid, tid, "").c_str(), F_OK) == 0) {
    PP_ASSIGN_OR_RETURN([[maybe_unused]] const bool seized, stopped.Seize(tid));
    PP_RETURN_IF_ERROR(stopped.AwaitStops(deadline));
  }
  if (stopped.threads_.empty() && HasEnded(pid, Tid(pid.value)) && HasEnded(pid, tid)) {
    return Gone(pid);
  }
  return stopped;
}

Result<StoppedThreads> StoppedThreads::StopAll(Pid pid, Nanos timeout) {
  ReleaseLate();
  const Nanos deadline = MonotonicNow() + timeout;
  StoppedThreads stopped(pid);
  // A thread that was not in the list yet was made by one that was not stopped yet: once a whole round finds nothing
  // to seize, nobody is left who could make one.
  for (bool grew = true; grew;) {
    grew = false;
    PP_ASSIGN_OR_RETURN(const std::vector<Tid> present, ListThreads(pid));
    for (const Tid tid : present) {
      if (stopped.Knows(tid)) {
        continue;
      }
      Result<bool> seized = stopped.Seize(tid);
      if (seized.has_error()) {
        (void)stopped.AwaitStops(deadline);                    // only a stopped thread can be let go
        { const StoppedThreads let_go = std::move(stopped); }  // before anything is looked up
        return WithTracer(std::move(seized).error(), pid, tid);
      }
      grew |= seized.value();
    }
    PP_RETURN_IF_ERROR(stopped.AwaitStops(deadline));
  }
  if (stopped.threads_.empty()) {
    return Gone(pid);
  }
  return stopped;
}

bool StoppedThreads::Knows(Tid tid) const { return std::find(threads_.begin(), threads_.end(), tid) != threads_.end(); }

Result<bool> StoppedThreads::Seize(Tid tid) {
  if (TakeLateThread(tid)) {
    seized_.push_back(tid);
    return true;
  }
  if (::ptrace(PTRACE_SEIZE, tid.value, nullptr, nullptr) != 0) {
    const int err = errno;
    if (err == ESRCH || HasEnded(pid_, tid)) {
      return false;
    }
    return ErrnoError(err, "cannot stop thread " + std::to_string(tid.value) + " of " + ThingOf(pid_));
  }
  seized_.push_back(tid);
  ::ptrace(PTRACE_INTERRUPT, tid.value, nullptr, nullptr);  // fails only if it has died, which the wait tells
  return true;
}

void StoppedThreads::CollectStops() {
  std::erase_if(seized_, [this](Tid tid) {
    const TraceeStatus status = LookAtTracee(tid);
    if (status.stopped()) {
      threads_.push_back(tid);
      signals_.push_back(status.signal);
    } else if (status.state == TraceeState::kDead) {
      ReapTracee(tid);
    }
    return status.state != TraceeState::kRunning;
  });
}

Result<void> StoppedThreads::AwaitStops(Nanos deadline) {
  Backoff backoff;
  for (CollectStops(); !seized_.empty(); CollectStops()) {
    if (MonotonicNow() > deadline) {
      return Error{Code::kDeadlineExceeded,
                   "thread " + std::to_string(seized_.front().value) + " of process " + std::to_string(pid_.value) +
                       " did not stop in time: it waits uninterruptibly, or gets no CPU",
                   "try again, or sample without stops"};
    }
    backoff.Wait();
  }
  return {};
}

size_t StoppedThreads::ReleaseLate() { return ReleaseLateThreads(); }

StoppedThreads::~StoppedThreads() {
  bool killed = false;
  for (size_t i = 0; i < threads_.size(); ++i) {
    if (!DetachTracee(threads_[i], signals_[i])) {
      AddLateThread(threads_[i]);
      killed = true;
    }
  }
  for (const Tid tid : seized_) {
    AddLateThread(tid);
  }
  const Nanos deadline = MonotonicNow() + kPatienceWithTheDying;
  Backoff backoff;
  while (ReleaseLateThreads() > 0 && killed && MonotonicNow() < deadline) {
    backoff.Wait();
  }
}

}  // namespace ptrace_prof
