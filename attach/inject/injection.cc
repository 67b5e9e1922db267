#include "attach/inject/injection.h"

#include <fmt/format.h>
#include <time.h>

#include <cstring>
#include <optional>

#include "attach/inject/file_lock.h"
#include "attach/inject/job_limits.h"
#include "attach/inject/left_scripts.h"
#include "attach/inject/resident_stub.h"
#include "attach/inject/sealed_memory.h"
#include "attach/inject/strategy.h"
#include "attach/ptrace/held_start.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kEndOfOthers = Nanos::FromSeconds(3);
constexpr Nanos kPause = Nanos::FromMillis(2);
constexpr uint64_t kPrivateBytes = 5 << 20;  // the stub's tables, and its code

ChannelShape ShapeOf(const pp_boot& boot) {
  return {boot.ring_count, boot.ring_records, boot.nonce, (boot.flags & PP_BOOT_MUTES) != 0};
}

// The channel of one capture, once it is there and ready.
class ChannelTaker {
 public:
  ChannelTaker(Pid pid, RemoteMemory& memory, const TargetFiles& files, const pp_boot& boot)
      : pid_(pid), memory_(memory), files_(files), shape_(ShapeOf(boot)), name_(ChannelFileName(boot.nonce)) {}

  // False: not yet.
  Result<bool> Look() {
    constexpr int kAllEvery = 16;  // its number may be that of a file that was closed meanwhile
    if (!file_.is_open()) {
      const bool all = ++looks_ % kAllEvery == 0;
      PP_ASSIGN_OR_RETURN(const std::vector<TargetFile> found, files_.FindMemfds(name_, all));
      if (found.empty() && all) {  // a stub that fails closes its file at once
        PP_ASSIGN_OR_RETURN(std::optional<Error> failure, ResidentStub::FailureOf(pid_, memory_, shape_.nonce));
        if (failure) {
          return std::move(*failure);
        }
      }
      Result<UniqueFd> taken = found.empty() ? UniqueFd() : files_.Take(found.front());
      if (taken.has_error() || !taken.value().is_open()) {
        return false;
      }
      file_ = std::move(taken).value();
      PP_RETURN_IF_ERROR(LockFile(pid_, file_));
    }
    Result<Channel> channel = Channel::Take(file_, shape_);
    if (channel.has_error()) {
      return channel.error().code == Code::kUnavailable ? Result<bool>(false) : std::move(channel).error();
    }
    channel_ = std::move(channel).value();
    return true;
  }
  Injection Take(InjectionReport report) { return {std::move(*channel_), std::move(file_), report}; }

 private:
  Pid pid_;
  RemoteMemory& memory_;
  const TargetFiles& files_;
  ChannelShape shape_;
  std::string name_;
  int looks_ = 0;
  UniqueFd file_;
  std::optional<Channel> channel_;
};

Error TracedAlready(Pid pid) {
  return Because(Reason::kBeingTraced, fmt::format("process {} is being traced already", pid.value),
                 "Wait for the end of that capture, or cancel it.", ThingOf(pid));
}

// Where nobody may be called to take it away (breaker.holds_traced).
Error NotGoneYet(Pid pid) {
  return Because(
      Reason::kBeingTraced,
      fmt::format("process {} is being traced already, or the tracer of an earlier capture is still in it: on "
                  "CPython 3.11 it goes with the next call that the process makes",
                  pid.value),
      "Wait until it has gone on, or sample it (record without --mode trace).", ThingOf(pid));
}

// A stub whose collector was killed goes by itself after a while; we do not wait for that.
class Resident {
 public:
  Resident(const InjectionTarget& target, RemoteMemory& memory, const TargetFiles& files, const Patience& patience)
      : target_(target), memory_(memory), files_(files), patience_(patience) {}

  // Nothing: there is none. kAlreadyExists: it does not end its work for a collector that has gone.
  Result<std::optional<ResidentStub>> Find() {
    const Nanos deadline = MonotonicNow() + kEndOfOthers;
    for (;;) {
      PP_ASSIGN_OR_RETURN(std::optional<ResidentStub> stub, ResidentStub::Find(target_.pid, memory_));
      if (!stub || !stub->busy) {
        return stub;
      }
      if (MonotonicNow() > deadline) {
        return target_.queue.breaker.holds_traced ? NotGoneYet(target_.pid) : TracedAlready(target_.pid);
      }
      PP_RETURN_IF_ERROR(SendAway(*stub));
    }
  }

  Result<void> Enter(const ResidentStub& stub, const pp_boot& boot, ChannelTaker& taker) {
    RemoteWriter writer(target_.pid);
    PP_RETURN_IF_ERROR(stub.Tell(memory_, writer, {reinterpret_cast<const uint8_t*>(&boot), sizeof boot}));
    CallGuard guard{stub.boot + offsetof(pp_boot, nonce), {}, stub.boot + offsetof(pp_boot, target_pid)};
    std::memcpy(guard.bytes.data(), &boot.nonce, sizeof boot.nonce);
    return Call(stub.enter, guard, [&] { return taker.Look(); });
  }

  const RunReport& report() const { return report_; }

 private:
  Result<void> Call(RemoteAddr function, const CallGuard& guard, const EffectSeen& seen) {
    return RunCall(target_, memory_, {function, RemoteAddr()}, guard, patience_, seen, &report_);
  }

  Result<void> SendAway(const ResidentStub& stub) {
    PP_ASSIGN_OR_RETURN(const std::vector<TargetFile> channels, files_.FindMemfds(kTracerStub.memory_prefix, true));
    PP_RETURN_IF_ERROR(FreeHeldRunner(target_.pid, memory_, target_.queue));  // who brought it in may have been killed
    for (const TargetFile& channel : channels) {
      const Result<UniqueFd> file = files_.Take(channel);
      if (file.has_error()) {
        continue;  // closed meanwhile
      }
      Channel::AskToLeave(file.value());  // at its next event, should that be sooner than what follows
      if (!CanCall(target_) || target_.queue.breaker.holds_traced) {
        continue;
      }
      PP_ASSIGN_OR_RETURN(const RemoteAddr leave, stub.LeaveEntry(target_.pid, file.value()));
      CallGuard guard{leave, {}, RemoteAddr()};
      if (leave.IsNull() || memory_.Read(leave, guard.bytes.data(), guard.bytes.size()) != ReadStatus::kOk) {
        continue;
      }
      return Call(leave, guard, [&]() -> Result<bool> {
        uint64_t busy = 0;
        return memory_.ReadValue(stub.boot + offsetof(pp_boot, busy), &busy) == ReadStatus::kOk && busy == 0;
      });
    }
    PauseOrStep(kPause);  // it may just be beginning, or ending by itself
    return {};
  }

  const InjectionTarget& target_;
  RemoteMemory& memory_;
  const TargetFiles& files_;
  const Patience& patience_;
  RunReport report_;
};

}  // namespace

Result<Injection> Inject(const InjectionTarget& target, RemoteMemory& memory, const StubFile& image,
                         const Patience& patience) {
  const Nanos begin = MonotonicNow();
  InjectionReport report;
  PP_ASSIGN_OR_RETURN([[maybe_unused]] const auto strategies, ChooseStrategies(target));
  PP_RETURN_IF_ERROR(Delivery::CheckTarget(target.pid));
  PP_RETURN_IF_ERROR(CheckJobLimits(target.pid, {ShapeOf(image.boot()).size(), kPrivateBytes}, target.force));
  PP_ASSIGN_OR_RETURN(const TargetFiles files, TargetFiles::Of(target.pid));
  PP_RETURN_IF_ERROR(files.CheckTaking());
  PP_RETURN_IF_ERROR(CheckNobodyElse(target.pid, files, kTracerStub));
  StopCost left;
  PP_RETURN_IF_ERROR(RemoveLeftScripts(target, memory, left));
  ChannelTaker taker(target.pid, memory, files, image.boot());
  Resident resident(target, memory, files, patience);
  PP_ASSIGN_OR_RETURN(const std::optional<ResidentStub> stub, resident.Find());
  Delivery delivery(target, memory, files, image.package(), patience);
  if (stub && CanCall(target)) {
    PP_RETURN_IF_ERROR(delivery.CloseStrays());
    left.Add(delivery.report().stops);
    PP_RETURN_IF_ERROR(resident.Enter(*stub, image.boot(), taker));
    report = {resident.report().way, true, {}, resident.report().stops};
  } else {
    PP_RETURN_IF_ERROR(delivery.Run([&] { return taker.Look(); }));
    report = {delivery.report().way, false, {}, delivery.report().stops};
  }
  report.stops.Add(left);
  report.took = MonotonicNow() - begin;
  return taker.Take(report);
}

Result<QueuedCall> QueueLeave(const InjectionTarget& target, RemoteMemory& memory, const Channel& channel,
                              Nanos deadline) {
  if (target.no_queue) {
    return *target.no_queue;
  }
  if (target.queue.breaker.holds_traced) {
    return Error{Code::kUnimplemented, "no call may wait in this interpreter while its calls are traced", ""};
  }
  CallGuard guard;
  guard.address = channel.leave_entry();  // to leave late is to leave
  if (memory.Read(guard.address, guard.bytes.data(), guard.bytes.size()) != ReadStatus::kOk) {
    return NotTheSharedMemory("it does not say how to leave");
  }
  return QueuedCall::Put(target.pid, memory, target.queue, {channel.leave_entry(), RemoteAddr()}, guard,
                         Patience{deadline, nullptr});
}

}  // namespace ptrace_prof
