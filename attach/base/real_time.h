// Real-time priority for a thread that must wake up in time and must not lose its CPU while it holds somebody else's.
//
// A sampler that wakes late samples another moment, on a full machine preferably one at which its target sleeps; one
// that loses the CPU while it holds a thread holds it for milliseconds. Priority 1 of SCHED_FIFO, the least that there
// is; what is forked has the usual one. Where the rights do not allow it all is as before. For the calling thread.
#pragma once

namespace ptrace_prof {

// While there still is the right to: this process and its children may take the priority later, as anybody. False:
// there is no right to that (CAP_SYS_RESOURCE).
bool AllowRealTime();

// Takes the priority now, as one who will not be able to later.
void TakeRealTimeForGood();

// True if the thread has the priority now.
bool TakeRealTime();
void LeaveRealTime();

// The usual priority for as long as it lives: for work that takes long. Nothing changes where the thread has no other,
// or could not get that again.
class UsualPriority {
 public:
  UsualPriority();
  ~UsualPriority();
  UsualPriority(const UsualPriority&) = delete;
  UsualPriority& operator=(const UsualPriority&) = delete;

 private:
  bool had_real_time_;
};

// The priority for as long as it lives, as far as the rights go: while somebody stands still for us.
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
