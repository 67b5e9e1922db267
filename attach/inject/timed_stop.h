// All threads of a target stopped for the length of a scope, and a note of how long they stood. Belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/ptrace/stopped_threads.h"

namespace ptrace_prof {

struct StopCost {
  uint32_t stops = 0;
  Nanos longest;  // from when all stood until all were let go
  Nanos total;
  void Add(Nanos held);
  void Add(const StopCost& other);
};

// Threads, of a target that has a GIL: to stop one takes some 10 to 60 us, for which the first ones stand.
constexpr size_t kMostStoppedAtOnce = 64;

// All threads, or an error within 5 ms or so: as StoppedThreads::StopAll. kDeadlineExceeded also where not one has
// stopped, since it takes one to write into the code of the target. Where threads are many, those that wait in the
// kernel go on waiting: none of them is among instructions of ours or writes to what we write to. One that is woken
// just then finds what we write as another thread's: it is put in the order in which the interpreter's own code puts
// it.
Result<StoppedThreads> StopForAMoment(Pid pid);

class TimedStop {
 public:
  TimedStop(StoppedThreads threads, StopCost& cost) : threads_(std::move(threads)), cost_(cost) {}
  TimedStop(const TimedStop&) = delete;
  TimedStop& operator=(const TimedStop&) = delete;
  ~TimedStop() {
    threads_.reset();
    cost_.Add(MonotonicNow() - begin_);
  }

  // One that has stopped.
  Tid any() const { return threads_->threads().front(); }
  // Whether some thread may be among these instructions, or come there without asking where they are.
  bool PointsInto(Pid pid, RemoteAddr begin, RemoteAddr end) const;

 private:
  std::optional<StoppedThreads> threads_;
  StopCost& cost_;
  Nanos begin_ = MonotonicNow();
};

// Until when to wait for a target, and whether to go on at all: asked every millisecond or so (may be empty).
struct Patience {
  Nanos deadline;
  std::function<bool()> go_on;
  // Asked under the stop that would put something into the target: is it ready for that? Later if not; an error ends
  // the attempts. May be empty.
  std::function<Result<bool>()> is_ready = nullptr;

  Result<bool> may_begin() const { return is_ready ? is_ready() : Result<bool>(true); }
};

// Tries again every millisecond, until `attempt` (one under a stop) gives true or an error that does not pass.
// `otherwise`: it did not give true until `deadline`. kUnavailable: the threads did not stop until then.
// kCancelled: it is not to go on.
Result<void> RetryStops(const std::function<Result<bool>()>& attempt, const Error& otherwise, const Patience& patience);
Result<void> RetryStops(const std::function<Result<bool>()>& attempt, const Error& otherwise, Nanos deadline);
// The usual `otherwise`, for attempts that fail only so.
Error NotStopped();

}  // namespace ptrace_prof
