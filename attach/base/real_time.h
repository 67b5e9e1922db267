// Real-time priority for a thread that must wake up in time, and must not lose its CPU while it holds another thread.
//
// A sampler that wakes late samples another moment, and on a full machine preferably one at which its target sleeps. A
// sampler that loses the CPU while it holds a thread holds that thread for milliseconds. The priority is 1 of
// SCHED_FIFO, the lowest; forked processes get the usual one. Without the rights for it nothing changes. Affects the
// calling thread.
#pragma once

namespace ptrace_prof {

// Allows this process and its children to take the priority later without privileges. Call it while privileges remain.
// Returns false without the right to do so (CAP_SYS_RESOURCE).
bool AllowRealTime();

// Takes the priority now, for a thread that cannot take it again later.
void TakeRealTimeForGood();

// Returns true if the thread has the priority now.
bool TakeRealTime();
void LeaveRealTime();

// Gives the thread the usual priority for the lifetime of the object, for work that takes long. Does nothing if the
// thread has no other priority, or could not get its priority back.
class UsualPriority {
 public:
  UsualPriority();
  ~UsualPriority();
  UsualPriority(const UsualPriority&) = delete;
  UsualPriority& operator=(const UsualPriority&) = delete;

 private:
  bool had_real_time_;
};

// Gives the thread the priority for the lifetime of the object, if the rights allow it: for work while a target is
// stopped.
class UrgentPriority {
 public:
  UrgentPriority();
  ~UrgentPriority();
  UrgentPriority(const UrgentPriority&) = delete;
  UrgentPriority& operator=(const UrgentPriority&) = delete;

 private:
  const bool took_;
};

}  // namespace ptrace_prof
