// Stops all threads of a target for a scope, and measures the duration. Belongs to one thread.
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
  Nanos longest;  // from when all were stopped until all were released
  Nanos total;
  void Add(Nanos held);
  void Add(const StopCost& other);
};

// In a target with a GIL. Stopping a thread takes some 10 to 60 us, during which those stopped first wait.
constexpr size_t kMostStoppedAtOnce = 64;

// Stops all threads, or fails within about 5 ms: as StoppedThreads::StopAll. kDeadlineExceeded also if no thread has
// stopped, because writing into the target's code needs one. If there are many threads, those that wait in the kernel
// keep waiting: none of them is in our instructions or writes where we write. A thread that wakes up just then sees our
// writes like another thread's, because we write in the order of the interpreter's own code.
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

  // A stopped thread.
  Tid any() const { return threads_->threads().front(); }
  // Whether a thread may be in these instructions, or get there without checking their address.
  bool PointsInto(Pid pid, RemoteAddr begin, RemoteAddr end) const;

 private:
  std::optional<StoppedThreads> threads_;
  StopCost& cost_;
  Nanos begin_ = MonotonicNow();
};

// How long to wait for a target, and whether to continue at all: called about every millisecond (may be empty).
struct Patience {
  Nanos deadline;
  std::function<bool()> go_on;
  // Called under the stop that would write into the target, to check that it is ready. If not, the write is tried again
  // later; an error ends the attempts. May be empty.
  std::function<Result<bool>()> is_ready = nullptr;

  Result<bool> may_begin() const { return is_ready ? is_ready() : Result<bool>(true); }
};

// Retries every millisecond until `attempt` (one under a stop) returns true or a permanent error. Returns `otherwise`
// if it did not return true until `deadline`. kUnavailable: the threads did not stop until then. kCancelled: by go_on.
Result<void> RetryStops(const std::function<Result<bool>()>& attempt, const Error& otherwise, const Patience& patience);
Result<void> RetryStops(const std::function<Result<bool>()>& attempt, const Error& otherwise, Nanos deadline);
// The usual `otherwise`, for attempts that fail only if threads do not stop.
Error NotStopped();

}  // namespace ptrace_prof
