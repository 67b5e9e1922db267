#include "attach/inject/injection.h"

#include <fmt/format.h>
#include <time.h>

#include <cstring>
#include <optional>

#include "attach/inject/memory_taker.h"
#include "attach/inject/resident_stub.h"
#include "attach/inject/sealed_memory.h"
#include "attach/inject/strategy.h"
#include "attach/ptrace/held_start.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kEndOfOtherTracers = Nanos::FromSeconds(3);
constexpr Nanos kTracerPause = Nanos::FromMillis(2);
constexpr uint64_t kTracerBytes = 5 << 20;  // the stub's tables, and its code

ChannelShape ShapeOf(const pp_boot& boot) {
  return {boot.ring_count, boot.ring_records, boot.nonce, (boot.flags & PP_BOOT_MUTES) != 0};
}

Error TracedAlready(Pid pid) {
  return Because(Reason::kBeingTraced, fmt::format("process {} is being traced already", pid.value),
                 "Wait for the end of that capture, or cancel it.", ThingOf(pid));
}

// For targets in which no call may remove the stub (breaker.holds_traced).
Error NotGoneYet(Pid pid) {
  return Because(Reason::kBeingTraced,
                 fmt::format("process {} is being traced already, or the tracer of an earlier capture is still in it: "
                             "on CPython 3.11 it ends with the next call of the process",
                             pid.value),
                 "Wait until the process has made a call, or sample it (record without --mode trace).", ThingOf(pid));
}

// A stub whose collector was killed leaves on its own after a while; we do not wait for that.
class Resident {
 public:
  Resident(const InjectionTarget& target, RemoteMemory& memory, const TargetFiles& files, const Patience& patience)
      : target_(target), memory_(memory), files_(files), patience_(patience) {}

  // Returns nullopt if there is no stub. kAlreadyExists: a stub does not end its work for a collector that is gone.
  Result<std::optional<ResidentStub>> Find(RunReport* report) {
    const Nanos deadline = MonotonicNow() + kEndOfOtherTracers;
    for (;;) {
      PP_ASSIGN_OR_RETURN(std::optional<ResidentStub> stub, ResidentStub::Find(target_.pid, memory_));
      if (!stub || !stub->busy) {
        return stub;
      }
      if (MonotonicNow() > deadline) {
        return target_.queue.breaker.holds_traced ? NotGoneYet(target_.pid) : TracedAlready(target_.pid);
      }
      PP_RETURN_IF_ERROR(SendAway(*stub, report));
    }
  }

 private:
  Result<void> SendAway(const ResidentStub& stub, RunReport* report) {
    PP_ASSIGN_OR_RETURN(const std::vector<TargetFile> channels, files_.FindMemfds(kTracerStub.memory_prefix, true));
    PP_RETURN_IF_ERROR(FreeHeldRunner(target_.pid, memory_, target_.queue));  // the collector that injected it may have
                                                                              // been killed
    for (const TargetFile& channel : channels) {
      const Result<UniqueFd> file = files_.Take(channel);
      if (file.has_error()) {
        continue;  // closed meanwhile
      }
      Channel::AskToLeave(file.value());  // at its next event, if that comes before the call below
      if (!CanCall(target_) || target_.queue.breaker.holds_traced) {
        continue;
      }
      PP_ASSIGN_OR_RETURN(const RemoteAddr leave, stub.LeaveEntry(target_.pid, file.value()));
      CallGuard guard{leave, {}, RemoteAddr()};
      if (leave.IsNull() || memory_.Read(leave, guard.bytes.data(), guard.bytes.size()) != ReadStatus::kOk) {
        continue;
      }
      const EffectSeen has_left = [&]() -> Result<bool> {
        uint64_t busy = 0;
        return memory_.ReadValue(stub.boot + offsetof(pp_boot, busy), &busy) == ReadStatus::kOk && busy == 0;
      };
      return RunCall(target_, memory_, {leave, RemoteAddr()}, guard, patience_, has_left, report);
    }
    PauseOrStep(kTracerPause);  // the stub may be beginning now, or ending on its own
    return {};
  }

  const InjectionTarget& target_;
  RemoteMemory& memory_;
  const TargetFiles& files_;
  const Patience& patience_;
};

}  // namespace

Result<Injection> Inject(const InjectionTarget& target, RemoteMemory& memory, const StubFile& image,
                         const Patience& patience) {
  const Nanos begin = MonotonicNow();
  const ChannelShape shape = ShapeOf(image.boot());
  PP_ASSIGN_OR_RETURN(const TargetFiles files, CheckEntry(target, kTracerStub, shape.size(), kTracerBytes));
  MemoryTaker<Channel, ChannelShape> taker(target.pid, files, kTracerStub, shape, [&]() -> Result<void> {
    PP_ASSIGN_OR_RETURN(std::optional<Error> failure, ResidentStub::FailureOf(target.pid, memory, shape.nonce));
    return failure ? Result<void>(std::move(*failure)) : Result<void>();
  });
  Resident resident(target, memory, files, patience);
  const StubEntry entry{image.package(), image.reported(), [&](RunReport* report) { return resident.Find(report); },
                        [&] { return taker.Look(); }};
  PP_ASSIGN_OR_RETURN(InjectionReport report, Enter(target, memory, files, entry, patience));
  report.took = MonotonicNow() - begin;
  return Injection{std::move(taker.memory()), std::move(taker.file()), report};
}

Result<QueuedCall> QueueLeave(const InjectionTarget& target, RemoteMemory& memory, const Channel& channel,
                              Nanos deadline) {
  if (target.no_queue) {
    return *target.no_queue;
  }
  if (target.queue.breaker.holds_traced) {
    return Error{Code::kUnimplemented, "this interpreter allows no pending call while its calls are traced", ""};
  }
  CallGuard guard;
  guard.address = channel.leave_entry();  // nothing to wipe: a call that runs late is harmless
  if (memory.Read(guard.address, guard.bytes.data(), guard.bytes.size()) != ReadStatus::kOk) {
    return NotTheSharedMemory("it has no exit address");
  }
  return QueuedCall::Put(target.pid, memory, target.queue, {channel.leave_entry(), RemoteAddr()}, guard,
                         Patience{deadline, nullptr});
}

}  // namespace ptrace_prof
