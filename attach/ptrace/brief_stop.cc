#include "attach/ptrace/brief_stop.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <utility>

#include "attach/proc/memory_grants.h"
#include "attach/ptrace/guarded_seize.h"
#include "attach/ptrace/traced_threads.h"
#include "attach/ptrace/tracee.h"

namespace ptrace_prof {
namespace {

constexpr int kLooksAtOnce = 60;  // about 0.3 us each: a thread that runs on another CPU traps within a few of them
constexpr long kNap = 20'000;

// The registers that hold the number of a thread's system call and its result.
#if defined(__x86_64__)
constexpr size_t kRegisters = 27;
constexpr size_t kResult = 10;  // rax
constexpr size_t kCall = 15;    // orig_rax; -1: not in a call
bool IsInCall(const std::array<uint64_t, 64>& registers) { return static_cast<int64_t>(registers[kCall]) >= 0; }
#elif defined(__aarch64__)
constexpr size_t kRegisters = 34;
constexpr size_t kResult = 0;  // x0; no register holds the call, so a function's result of -4 matches too
bool IsInCall(const std::array<uint64_t, 64>&) { return true; }
#endif

}  // namespace

BriefStop::BriefStop(Pid pid, Tid tid, StopVia via) : pid_(pid), tid_(tid), via_(via), asked_(MonotonicNow()) {
  if (via_ == StopVia::kGrant) {
    refusal_ = AskToStop(pid, tid);
    state_ = refusal_ == 0 ? State::kStopped : refusal_ == ESRCH ? State::kGone : State::kRefused;
    return;
  }
  refusal_ = GuardedSeize::SeizeOne(tid);
  if (refusal_ != 0) {
    state_ = refusal_ == ESRCH ? State::kGone : State::kRefused;
    return;
  }
  AddTracedThread(pid, tid);
  ::ptrace(PTRACE_INTERRUPT, tid.value, nullptr, nullptr);  // fails only if the thread has died, which Look detects
  state_ = State::kComing;
}

BriefStop::BriefStop(BriefStop&& other) noexcept { *this = std::move(other); }

BriefStop& BriefStop::operator=(BriefStop&& other) noexcept {
  if (this != &other) {
    Release();
    pid_ = other.pid_;
    tid_ = other.tid_;
    via_ = other.via_;
    state_ = std::exchange(other.state_, State::kNone);
    refusal_ = other.refusal_;
    signal_ = other.signal_;
    asked_ = other.asked_;
  }
  return *this;
}

BriefStop::State BriefStop::Look() {
  const TraceeStatus status = LookAtTracee(tid_);
  if (status.stopped()) {
    signal_ = status.signal;
    return State::kStopped;
  }
  if (status.state == TraceeState::kRunning) {
    return State::kComing;
  }
  if (status.state == TraceeState::kDead) {
    ReapTracee(tid_);
  }
  RemoveTracedThread(tid_);
  const Tid first(pid_.value);
  if (status.state == TraceeState::kNotTraced && tid_ != first && IsTracedAsFirst(pid_)) {
    AddLateThread(pid_, first);  // the process has called exec, and stops at its first instruction
  }
  return State::kGone;
}

BriefStop::State BriefStop::Await(Nanos patience) {
  if (state_ != State::kComing) {
    return state_;
  }
  const Nanos end = MonotonicNow() + patience;
  for (int looks = 0; (state_ = Look()) == State::kComing; ++looks) {
    if (looks < kLooksAtOnce) {
      continue;
    }
    if (MonotonicNow() >= end) {
      break;
    }
    const timespec nap{0, kNap};
    ::nanosleep(&nap, nullptr);
  }
  return state_;
}

bool BriefStop::HasInterruptedCall() const {
  if (state_ != State::kStopped || via_ == StopVia::kGrant || signal_ != 0) {
    return false;
  }
  std::array<uint64_t, 64> registers{};
  iovec into{registers.data(), kRegisters * sizeof registers[0]};
  return ::ptrace(PTRACE_GETREGSET, tid_.value, reinterpret_cast<void*>(uint64_t{NT_PRSTATUS}), &into) == 0 &&
         IsInCall(registers) && static_cast<int64_t>(registers[kResult]) == -EINTR;
}

void BriefStop::Release() {
  const State state = std::exchange(state_, State::kNone);
  if (state == State::kStopped && via_ == StopVia::kGrant) {
    LetGoOfStopped();
  } else if (state == State::kComing || (state == State::kStopped && !DetachTracee(tid_, signal_))) {
    AddLateThread(pid_, tid_);  // or it was killed, and we must reap it
  } else if (state == State::kStopped) {
    RemoveTracedThread(tid_);
  }
}

}  // namespace ptrace_prof
