// What one thread is doing: running, waiting for the GIL, or blocked, and in what. It is checked every 2 to 20 ms, not
// at every sample: one look costs 0.8 us (schedstat), finding the reason another 1 (running) to 5 us (blocked).
//
// A thread that was not scheduled since the last look waits where it waited before. For any other thread the kernel
// says whether it runs, or in which system call it sleeps. A futex inside the GIL's own structure is a wait for the
// GIL. Threads whose state does not change are checked less often, unless their stack moved. One per thread of the
// target.
#pragma once

#include <cstdint>
#include <optional>

#include "attach/base/types.h"
#include "attach/proc/thread_activity.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

class ThreadStateWatch {
 public:
  ThreadStateWatch(Pid pid, Tid tid);

  bool IsDue(Nanos now) const { return now >= next_look_; }
  // The stack moved: look at the next opportunity.
  void StackMoved() {
    next_look_ = Nanos();
    interval_ = Nanos();
  }
  // It has been idle for some time. A look shows something new only if it has run.
  bool is_calm() const { return state_.state == ThreadState::kIdle && interval_ >= kLongest; }
  // `gil`: address of the GIL's structure, null if there is none. `has_cuda`: libcuda is mapped.
  void Look(Nanos now, RemoteAddr gil, bool has_cuda);
  Nanos cpu() const { return usage_.has_value() ? usage_->cpu : Nanos(); }  // CPU time at the last look
  const StateInfo& state() const { return state_; }
  bool is_blocked() const { return state_.state != ThreadState::kUnknown && state_.state != ThreadState::kRunning; }
  bool is_idle() const { return state_.state == ThreadState::kIdle || state_.state == ThreadState::kDiskWait; }
  bool stands_still() const { return state_.state == ThreadState::kJobStopped; }

 private:
  static constexpr Nanos kLongest = Nanos::FromMillis(40);

  StateInfo Classify(const WaitReason& reason, RemoteAddr gil, bool has_cuda) const;

  std::optional<ThreadActivity> activity_;
  std::optional<ThreadActivity::Usage> usage_;
  Nanos next_look_;
  Nanos interval_;
  StateInfo state_;
};

}  // namespace ptrace_prof
