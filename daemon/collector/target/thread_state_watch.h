// What one thread is doing: running, waiting for the GIL, blocked in what. Looked at every 2 to 20 ms, not at every
// sample: one look costs 0.8 us (schedstat), a reason another 1 (running) to 5 us (blocked).
//
// A thread that was not put on a CPU since the last look waits where it waited; of any other the kernel says whether it
// runs or in which system call it sleeps, and a futex inside the GIL's own structure is a wait for the GIL. Threads
// whose state does not change are looked at less often, unless their stack moved. One per thread of the target.
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
  // Its stack moved: look at the next opportunity.
  void StackMoved() {
    next_look_ = Nanos();
    interval_ = Nanos();
  }
  // It waits, and has for some time: a look says something new only where it has run.
  bool is_calm() const { return state_.state == ThreadState::kIdle && interval_ >= kLongest; }
  // `gil`: where the GIL's structure lies, null if there is none. `has_cuda`: libcuda is mapped.
  void Look(Nanos now, RemoteAddr gil, bool has_cuda);
  Nanos cpu() const { return usage_.has_value() ? usage_->cpu : Nanos(); }  // that it had used at the last look
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
