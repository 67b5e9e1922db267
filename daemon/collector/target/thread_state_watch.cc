#include "daemon/collector/target/thread_state_watch.h"

#include <algorithm>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr Nanos kShortest = Nanos::FromMillis(5);
constexpr uint64_t kGilStructSize = 256;  // last_holder … mutexes and condition variables (CPython: pycore_gil.h)

}  // namespace

ThreadStateWatch::ThreadStateWatch(Pid pid, Tid tid) : interval_(kShortest) {
  if (auto opened = ThreadActivity::Open(pid, tid); opened.has_value()) {
    activity_.emplace(std::move(opened).value());
  }
}

StateInfo ThreadStateWatch::Classify(const WaitReason& reason, RemoteAddr gil, bool has_cuda) const {
  switch (reason.kind) {
    case WaitKind::kUnknown: return {};
    case WaitKind::kRunning: return {.state = ThreadState::kRunning};
    case WaitKind::kDisk: return {.state = ThreadState::kDiskWait, .detail = reason.call};
    case WaitKind::kDevice:
      return {.state = has_cuda ? ThreadState::kGpuWait : ThreadState::kIdle, .detail = reason.call};
    case WaitKind::kFutex:
      if (!gil.IsNull() && reason.futex_address >= gil.value && reason.futex_address - gil.value < kGilStructSize) {
        return {.state = ThreadState::kGilWait};
      }
      return {.state = ThreadState::kIdle, .detail = reason.call};
    case WaitKind::kStopped: return {.state = ThreadState::kJobStopped, .detail = reason.call};
    case WaitKind::kSleep:
    case WaitKind::kPoll:
    case WaitKind::kRead:
    case WaitKind::kWrite:
    case WaitKind::kChild:
    case WaitKind::kDead:
    case WaitKind::kOther: break;
  }
  return {.state = ThreadState::kIdle, .detail = reason.call};
}

void ThreadStateWatch::Look(Nanos now, RemoteAddr gil, bool has_cuda) {
  if (!activity_.has_value()) {
    next_look_ = now + Nanos::FromSeconds(1);
    return;
  }
  const ThreadState before = state_.state;
  const auto usage = activity_->Look();
  if (usage.has_error()) {
    state_ = {};
    next_look_ = now + kLongest;
    return;
  }
  const bool never_ran =
      usage_.has_value() && usage.value().slices == usage_->slices && usage.value().cpu == usage_->cpu;
  if (!never_ran || !is_blocked()) {
    state_ = Classify(activity_->Reason(), gil, has_cuda);
  }
  usage_ = usage.value();  // a thread that did not run meanwhile still waits for the same reason
  interval_ = state_.state == before ? std::clamp(Nanos(interval_.value * 2), kShortest, kLongest) : kShortest;
  if (state_.state == ThreadState::kRunning) {
    interval_ = kShortest;  // to notice soon when it begins to wait
  }
  next_look_ = now + interval_;
}

}  // namespace ptrace_prof
