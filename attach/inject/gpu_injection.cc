#include "attach/inject/gpu_injection.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attach/inject/file_lock.h"
#include "attach/inject/gpu_failure.h"
#include "attach/inject/job_limits.h"
#include "attach/inject/left_scripts.h"
#include "attach/inject/resident_stub.h"
#include "attach/inject/strategy.h"

namespace ptrace_prof {
namespace {

// A shim whose collector was killed may be in the middle of taking CUPTI down.
constexpr Nanos kEndOfOthers = Nanos::FromSeconds(6);
constexpr Nanos kPause = Nanos::FromMillis(1);
constexpr uint64_t kPrivateBytes = 64 << 20;  // the shim's spare buffers, its thread, and what CUPTI makes for itself

void Pause() {
  const timespec pause{0, kPause.value};
  ::nanosleep(&pause, nullptr);
}

GpuArenaShape ShapeOf(const pp_gpu_boot& boot) {
  return {boot.slot_count, boot.slot_bytes, boot.nonce, boot.stack_bytes};
}

// The arena of one capture, once it is there.
class ArenaTaker {
 public:
  ArenaTaker(const InjectionTarget& target, RemoteMemory& memory, const TargetFiles& files, const pp_gpu_boot& boot)
      : pid_(target.pid),
        memory_(memory),
        files_(files),
        shape_(ShapeOf(boot)),
        name_(StubMemoryName(kGpuShim, boot.nonce)) {}

  // False: not yet.
  Result<bool> Look() {
    constexpr int kAllEvery = 16;  // its number may be that of a file that was closed meanwhile
    if (!file_.is_open()) {
      const bool all = ++looks_ % kAllEvery == 0;
      PP_ASSIGN_OR_RETURN(const std::vector<TargetFile> found, files_.FindMemfds(name_, all));
      if (found.empty() && all) {
        PP_RETURN_IF_ERROR(CheckFailure());
      }
      Result<UniqueFd> taken = found.empty() ? UniqueFd() : files_.Take(found.front());
      if (taken.has_error() || !taken.value().is_open()) {
        return false;
      }
      file_ = std::move(taken).value();
      PP_RETURN_IF_ERROR(LockFile(pid_, file_));
    }
    Result<GpuArena> arena = GpuArena::Take(file_, shape_);
    if (arena.has_error()) {
      return arena.error().code == Code::kUnavailable ? Result<bool>(false) : std::move(arena).error();
    }
    arena_ = std::move(arena).value();
    arena_->RenewLease();
    return true;
  }
  GpuInjection Take(InjectionReport report, uint64_t sessions_before) {
    return {std::move(*arena_), std::move(file_), report, sessions_before};
  }

 private:
  // Of a shim that could not even make an arena.
  Result<void> CheckFailure() {
    PP_ASSIGN_OR_RETURN(const std::vector<ResidentStub> shims, ResidentStub::FindAll(kGpuShim, pid_, memory_));
    for (const ResidentStub& shim : shims) {
      if (shim.head.served == shape_.nonce && !shim.busy && shim.head.error != PP_GPU_ERROR_NONE) {
        return GpuFailure(pid_, {shim.head.error, shim.head.error_step, shim.head.error_number, 0, 0, ""});
      }
    }
    return {};
  }

  Pid pid_;
  RemoteMemory& memory_;
  const TargetFiles& files_;
  GpuArenaShape shape_;
  std::string name_;
  int looks_ = 0;
  UniqueFd file_;
  std::optional<GpuArena> arena_;
};

class ResidentShim {
 public:
  ResidentShim(const InjectionTarget& target, RemoteMemory& memory, const TargetFiles& files)
      : target_(target), memory_(memory), files_(files) {}

  // Nothing: there is none. kAlreadyExists: it does not end its work for a collector that has gone.
  Result<std::optional<ResidentStub>> Find() {
    const Nanos deadline = MonotonicNow() + kEndOfOthers;
    for (;;) {
      PP_ASSIGN_OR_RETURN(const std::vector<ResidentStub> shims, ResidentStub::FindAll(kGpuShim, target_.pid, memory_));
      // In a forked child the block still says what the parent was doing, by the parent's pid.
      const auto busy = std::ranges::find_if(shims, [&](const ResidentStub& shim) {
        return shim.head.busy == static_cast<uint64_t>(target_.own_pid.value);
      });
      if (busy == shims.end()) {
        for (const ResidentStub& shim : shims) {
          sessions_ += shim.head.sessions;
        }
        return shims.empty() ? std::optional<ResidentStub>() : shims.front();
      }
      if (MonotonicNow() > deadline) {
        return Because(Reason::kBeingTraced,
                       fmt::format("the GPU of process {} is being recorded already, or what an earlier capture left "
                                   "there still waits for CUPTI",
                                   target_.pid.value),
                       "Wait for the end of that capture, or cancel it.", ThingOf(target_.pid));
      }
      PP_RETURN_IF_ERROR(SendAway());
    }
  }

  uint64_t sessions() const { return sessions_; }  // once Find has returned: of all that are there

 private:
  Result<void> SendAway() {
    PP_ASSIGN_OR_RETURN(const std::vector<TargetFile> arenas, files_.FindMemfds(kGpuShim.memory_prefix, true));
    for (const TargetFile& arena : arenas) {
      const Result<UniqueFd> file = files_.Take(arena);
      if (file.has_value() && file.value().is_open()) {
        GpuArena::AskToLeave(file.value());
      }
    }
    Pause();
    return {};
  }

  const InjectionTarget& target_;
  RemoteMemory& memory_;
  const TargetFiles& files_;
  uint64_t sessions_ = 0;
};

Result<RunReport> Enter(const InjectionTarget& target, RemoteMemory& memory, const ResidentStub& shim,
                        const pp_gpu_boot& boot, const Patience& patience, const EffectSeen& seen) {
  RemoteWriter writer(target.pid);
  PP_RETURN_IF_ERROR(shim.Tell(memory, writer, {reinterpret_cast<const uint8_t*>(&boot), sizeof boot}));
  CallGuard guard{shim.boot + offsetof(pp_gpu_boot, nonce), {}, shim.boot + offsetof(pp_gpu_boot, target_pid)};
  std::memcpy(guard.bytes.data(), &boot.nonce, sizeof boot.nonce);
  RunReport report;
  PP_RETURN_IF_ERROR(RunCall(target, memory, {shim.enter, RemoteAddr()}, guard, patience, seen, &report));
  return report;
}

Error AttachTimeout(Pid pid, const GpuArena& arena) {
  return Because(Reason::kAttachTimeout,
                 fmt::format("CUPTI did not come up in process {} in time: it is still {}", pid.value, arena.step()),
                 "Try again; what hangs there now goes away by itself as soon as it can.", ThingOf(pid));
}

// Nobody says so in the arena of a process that was killed.
Result<void> CheckThere(Pid pid) {
  if (::kill(pid.value, 0) != 0 && errno == ESRCH) {
    return Because(Reason::kTargetExited, fmt::format("process {} has ended", pid.value), "", ThingOf(pid));
  }
  return {};
}

}  // namespace

Result<GpuInjection> InjectGpu(const InjectionTarget& target, RemoteMemory& memory, const GpuShimFile& image,
                               const Patience& patience) {
  const Nanos begin = MonotonicNow();
  PP_ASSIGN_OR_RETURN([[maybe_unused]] const auto strategies, ChooseStrategies(target));
  PP_RETURN_IF_ERROR(Delivery::CheckTarget(target.pid));
  PP_RETURN_IF_ERROR(CheckJobLimits(target.pid, {ShapeOf(image.boot()).size(), kPrivateBytes}, target.force));
  PP_ASSIGN_OR_RETURN(const TargetFiles files, TargetFiles::Of(target.pid));
  PP_RETURN_IF_ERROR(files.CheckTaking());
  PP_RETURN_IF_ERROR(CheckNobodyElse(target.pid, files, kGpuShim));
  InjectionReport report;
  StopCost left;
  PP_RETURN_IF_ERROR(RemoveLeftScripts(target, memory, left));
  ArenaTaker taker(target, memory, files, image.boot());
  const EffectSeen seen = [&] { return taker.Look(); };
  ResidentShim resident(target, memory, files);
  PP_ASSIGN_OR_RETURN(const std::optional<ResidentStub> shim, resident.Find());
  Delivery delivery(target, memory, files, image.package(), patience);
  if (shim && CanCall(target)) {
    PP_RETURN_IF_ERROR(delivery.CloseStrays());
    left.Add(delivery.report().stops);
    PP_ASSIGN_OR_RETURN(const RunReport run, Enter(target, memory, *shim, image.boot(), patience, seen));
    report = {run.way, true, {}, run.stops};
  } else {
    PP_RETURN_IF_ERROR(delivery.Run(seen));
    report = {delivery.report().way, false, {}, delivery.report().stops};
  }
  report.stops.Add(left);
  report.took = MonotonicNow() - begin;
  return taker.Take(report, resident.sessions());
}

Result<void> AwaitRecording(Pid pid, GpuArena& arena, const Patience& patience) {
  for (;;) {
    arena.RenewLease();
    switch (arena.state()) {
      case GpuState::kRecording: return {};
      case GpuState::kFailed:
      case GpuState::kLeft: {
        Error error = arena.Failure(pid);
        arena.AskToLeave(GpuLeave::kNow);  // it has been seen
        return error.code != Code::kOk ? error : Error{Code::kCancelled, "the shim was asked to leave", ""};
      }
      case GpuState::kNone:
      case GpuState::kAttaching:
      case GpuState::kDetaching: break;
    }
    PP_RETURN_IF_ERROR(CheckThere(pid));
    if (MonotonicNow() > patience.deadline) {
      arena.AskToLeave(GpuLeave::kNow);
      return AttachTimeout(pid, arena);
    }
    if (patience.go_on && !patience.go_on()) {
      arena.AskToLeave(GpuLeave::kNow);
      return Error{Code::kCancelled, "the capture was ended before CUPTI came up", ""};
    }
    Pause();
  }
}

Result<void> AwaitLeft(Pid pid, GpuArena& arena, Nanos deadline, const std::function<void()>& meanwhile) {
  for (;;) {
    const GpuState state = arena.state();
    if (meanwhile) {
      meanwhile();
    }
    if (state == GpuState::kLeft || state == GpuState::kFailed) {
      return {};
    }
    PP_RETURN_IF_ERROR(CheckThere(pid));
    if (MonotonicNow() > deadline) {
      return Error{Code::kDeadlineExceeded,
                   fmt::format("the GPU shim has not left process {} in time: it is still {}", pid.value, arena.step()),
                   "It goes on with that by itself.", Reason::kUnspecified, ThingOf(pid)};
    }
    arena.RenewLease();
    Pause();
  }
}

}  // namespace ptrace_prof
