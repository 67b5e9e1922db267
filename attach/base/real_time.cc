#include "attach/base/real_time.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr int kPriority = 1;

thread_local bool t_has_real_time = false;
thread_local bool t_is_for_good = false;

bool Set(int policy, int priority) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  return ::sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &parameters) == 0;
}

}  // namespace

bool AllowRealTime() {
  rlimit now{};
  if (::getrlimit(RLIMIT_RTPRIO, &now) != 0) {
    return false;
  }
  const rlimit wanted{std::max<rlim_t>(now.rlim_cur, kPriority), std::max<rlim_t>(now.rlim_max, kPriority)};
  return ::setrlimit(RLIMIT_RTPRIO, &wanted) == 0;
}

void TakeRealTimeForGood() { t_is_for_good = TakeRealTime(); }

bool TakeRealTime() {
  t_has_real_time = t_has_real_time || Set(SCHED_FIFO, kPriority);
  return t_has_real_time;
}

void LeaveRealTime() {
  t_has_real_time = t_has_real_time && !Set(SCHED_OTHER, 0);
  t_is_for_good = t_is_for_good && t_has_real_time;
}

UsualPriority::UsualPriority() : had_real_time_(t_has_real_time && !t_is_for_good) {
  if (had_real_time_) {
    LeaveRealTime();
  }
}

UsualPriority::~UsualPriority() {
  if (had_real_time_) {
    TakeRealTime();
  }
}

UrgentPriority::UrgentPriority() : took_(!t_has_real_time && TakeRealTime()) {}

UrgentPriority::~UrgentPriority() {
  if (took_) {
    LeaveRealTime();
  }
}

}  // namespace ptrace_prof
