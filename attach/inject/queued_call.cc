#include "attach/inject/queued_call.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "attach/base/real_time.h"
#include "attach/inject/eval_breaker.h"
#include "attach/proc/frozen_group.h"
#include "attach/proc/procfs.h"
#include "attach/ptrace/stopped_threads.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kTakeBackPatience = Nanos::FromSeconds(1);

}  // namespace

bool GuardHolds(RemoteMemory& memory, const CallGuard& guard) {
  std::array<uint8_t, 8> now{};
  return memory.Read(guard.address, now.data(), now.size()) == ReadStatus::kOk && now == guard.bytes;
}

// The tracer that still traces the process after a second. Samplers trace for some tens of microseconds at a time,
// longer if they wait for a CPU. We do not count ourselves: our own trace is of a thread that did not stop in time, and
// is released.
Pid LastingTracer(Pid pid, const ProcessStatus& first) {
  constexpr int kLooks = 100;
  Pid tracer = first.tracer;
  for (int look = 0; look < kLooks && tracer.value != 0 && tracer.value != ::getpid(); ++look) {
    const timespec nap{0, look < 10 ? 1'000'000 : 11'000'000};
    ::nanosleep(&nap, nullptr);
    const Result<ProcessStatus> now = ReadProcessStatus(pid);
    tracer = now.has_value() ? now.value().tracer : Pid();
  }
  return tracer.value == ::getpid() ? Pid() : tracer;
}

Result<void> CheckStoppable(Pid pid) {
  PP_ASSIGN_OR_RETURN(const ProcessStatus status, ReadProcessStatus(pid));
  if (status.state == 'T') {
    return Because(Reason::kTargetStopped, fmt::format("process {} is stopped (SIGSTOP or job control)", pid.value),
                   fmt::format("Continue it first: kill -CONT {}", pid.value), ThingOf(pid));
  }
  const bool runs = status.state == 'R';  // a frozen process is not running
  if (const std::string file = runs ? "" : FrozenGroupOf(pid); !file.empty()) {
    return Because(Reason::kTargetStopped, fmt::format("process {} is in a frozen cgroup ({})", pid.value, file),
                   "Thaw the group first.", ThingOf(pid));
  }
  const Pid tracer = LastingTracer(pid, status);
  if (tracer.value != 0) {
    return Because(
        Reason::kAlreadyTraced,
        fmt::format("process {} is traced by process {}, and Linux allows one tracer", pid.value, tracer.value),
        "End that debugger or tracer first.", ThingOf(pid));
  }
  return {};
}

Result<void> FreeHeldRunner(Pid pid, RemoteMemory& memory, const CallQueue& queue) {
  uint32_t count = 0;
  if (!queue.breaker.holds_traced || memory.ReadValue(queue.count, &count) != ReadStatus::kOk || count == 0) {
    return {};
  }
  const Result<CallQueueImage> looked = CallQueueImage::Read(memory, queue);
  if (looked.has_error() || looked.value().waiting() > 0) {
    return {};  // threads will handle those soon
  }
  const UrgentPriority urgent;
  Result<StoppedThreads> stopped = StopForAMoment(pid);
  if (stopped.has_error()) {
    return stopped.error().code == Code::kDeadlineExceeded ? Result<void>() : std::move(stopped).error();
  }
  PP_ASSIGN_OR_RETURN(const bool unlocked, CallQueueImage::IsUnlocked(memory, queue));
  const Result<CallQueueImage> image = CallQueueImage::Read(memory, queue);
  if (!unlocked || image.has_error() || image.value().waiting() > 0) {
    return {};
  }
  RemoteWriter writer(pid);
  PP_RETURN_IF_ERROR(writer.WriteValue(queue.count, uint32_t{0}));
  return ClearEvalBreaker(memory, writer, queue.breaker);
}

Result<QueuedCall> QueuedCall::Put(Pid pid, RemoteMemory& memory, const CallQueue& queue, const QueuedFunction& call,
                                   const CallGuard& guard, const Patience& patience) {
  PP_RETURN_IF_ERROR(CheckStoppable(pid));
  PP_RETURN_IF_ERROR(FreeHeldRunner(pid, memory, queue));
  auto state = std::make_unique<State>(State{pid, &memory, RemoteWriter(pid), queue, call, guard, &patience});
  const Error locked = Because(Reason::kPendingQueueLocked,
                               fmt::format("the pending calls of process {} were locked all the time", pid.value),
                               "Try again.", ThingOf(pid));
  PP_RETURN_IF_ERROR(RetryStops([&] { return TryPut(*state); }, locked, patience));
  state->patience = nullptr;
  return QueuedCall(std::move(state));
}

Result<bool> QueuedCall::TryPut(State& state) {
  PP_ASSIGN_OR_RETURN(StoppedThreads threads, StopForAMoment(state.pid));
  const TimedStop stop(std::move(threads), state.cost);
  PP_ASSIGN_OR_RETURN(const bool unlocked, CallQueueImage::IsUnlocked(*state.memory, state.queue));
  if (!unlocked) {
    return false;
  }
  PP_ASSIGN_OR_RETURN(CallQueueImage image, CallQueueImage::Read(*state.memory, state.queue));
  if (state.queue.breaker.holds_traced && image.waiting() > 0) {
    return false;  // one after another: a call that waits may start tracing before ours is made
  }
  if (image.full()) {
    return Because(Reason::kPendingQueueFull,
                   fmt::format("the queue of pending calls of process {} is full", state.pid.value),
                   "Try again in a moment.", ThingOf(state.pid));
  }
  if (!GuardHolds(*state.memory, state.guard)) {
    return Error{Code::kGone, "the target has become another program", ""};
  }
  PP_ASSIGN_OR_RETURN(const bool may_begin, state.patience->may_begin());
  if (!may_begin) {
    return false;
  }
  if (HoldsAThread(*state.memory, state.queue)) {
    return Because(Reason::kForeignProfiler,
                   fmt::format("another tool traces the calls of a thread of process {}, and this version of CPython "
                               "may block such a thread forever while code is loaded",
                               state.pid.value),
                   "End that tool first, or sample the process instead (record without --mode trace).",
                   ThingOf(state.pid));
  }
  state.slot = image.Append(state.call);
  PP_RETURN_IF_ERROR(state.writer.Write(image.address(), image.bytes()));
  state.open = true;
  PP_RETURN_IF_ERROR(SetEvalBreaker(*state.memory, state.writer, state.queue.breaker));
  return true;
}

Result<bool> QueuedCall::Taken() {
  if (!state_->open) {
    return true;
  }
  const Result<CallQueueImage> image = CallQueueImage::Read(*state_->memory, state_->queue);
  if (image.has_error()) {  // it may have changed while it was read
    return image.error().code == Code::kDataLoss ? Result<bool>(false) : Result<bool>(image.error());
  }
  const bool waits = image.value().Waits(state_->slot) && image.value().At(state_->slot) == state_->call;
  state_->open = waits;
  if (!waits) {
    PP_RETURN_IF_ERROR(FreeHeldRunner(state_->pid, *state_->memory, state_->queue));
  }
  return !waits;
}

Result<void> QueuedCall::Ring() {
  if (!state_->queue.breaker.forgets || !state_->open) {
    return {};
  }
  if (!GuardHolds(*state_->memory, state_->guard)) {
    return Error{Code::kGone, "the target has become another program", ""};
  }
  if (!state_->queue.counts) {
    PP_RETURN_IF_ERROR(state_->writer.WriteValue(state_->queue.count, uint32_t{1}));
  }
  return state_->writer.WriteValue(state_->queue.breaker.word, static_cast<uint32_t>(state_->queue.breaker.bits));
}

Result<bool> QueuedCall::TryTakeBack(State& state) {
  PP_ASSIGN_OR_RETURN(StoppedThreads threads, StopForAMoment(state.pid));
  const TimedStop stop(std::move(threads), state.cost);
  PP_ASSIGN_OR_RETURN(const bool unlocked, CallQueueImage::IsUnlocked(*state.memory, state.queue));
  if (!unlocked || !GuardHolds(*state.memory, state.guard)) {
    return false;
  }
  PP_ASSIGN_OR_RETURN(CallQueueImage image, CallQueueImage::Read(*state.memory, state.queue));
  if (image.TakeBack(state.slot, state.call)) {
    PP_RETURN_IF_ERROR(state.writer.Write(image.address(), image.bytes()));
    if (state.queue.breaker.holds_traced && image.waiting() == 0) {
      PP_RETURN_IF_ERROR(state.writer.WriteValue(state.queue.count, uint32_t{0}));
      PP_RETURN_IF_ERROR(ClearEvalBreaker(*state.memory, state.writer, state.queue.breaker));
    }
    return true;
  }
  if (image.Waits(state.slot) && image.At(state.slot) == state.call && !state.guard.wipe.IsNull()) {
    PP_RETURN_IF_ERROR(state.writer.WriteValue(state.guard.wipe, uint32_t{0}));
    state.open = false;
  }
  return false;
}

Result<Withdrawal> QueuedCall::Withdraw() {
  if (state_->taken_back) {
    return Withdrawal::kTakenBack;
  }
  Withdrawal withdrawal = Withdrawal::kLeft;
  const Result<void> done = RetryStops(
      [&]() -> Result<bool> {
        PP_ASSIGN_OR_RETURN(const bool taken, Taken());
        if (taken) {
          withdrawal = Withdrawal::kTaken;
          return true;
        }
        PP_ASSIGN_OR_RETURN(const bool back, TryTakeBack(*state_));
        withdrawal = back ? Withdrawal::kTakenBack : Withdrawal::kLeft;
        state_->taken_back = back;
        state_->open &= !back;
        return !state_->open;
      },
      {}, MonotonicNow() + kTakeBackPatience);
  if (done.has_error() && done.error().code == Code::kGone) {
    return done.error();
  }
  return withdrawal;
}

QueuedCall::~QueuedCall() {
  if (state_ != nullptr && state_->open) {
    static_cast<void>(Withdraw().has_value());
  }
}

}  // namespace ptrace_prof
