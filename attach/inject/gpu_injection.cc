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

#include "attach/inject/gpu_failure.h"
#include "attach/inject/memory_taker.h"
#include "attach/inject/resident_stub.h"

namespace ptrace_prof {
namespace {

// How long to wait for a shim whose collector was killed: it may be shutting CUPTI down.
constexpr Nanos kEndOfOtherShims = Nanos::FromSeconds(6);
constexpr Nanos kShimPause = Nanos::FromMillis(1);
constexpr uint64_t kShimBytes = 64 << 20;  // the shim's spare buffers, its thread, and CUPTI's own memory

void Pause() {
  const timespec pause{0, kShimPause.value};
  ::nanosleep(&pause, nullptr);
}

GpuArenaShape ShapeOf(const pp_gpu_boot& boot) {
  return {boot.slot_count, boot.slot_bytes, boot.nonce, boot.stack_bytes};
}

// The failure of a shim that could not even make an arena.
Result<void> FailureOf(Pid pid, RemoteMemory& memory, uint64_t nonce) {
  PP_ASSIGN_OR_RETURN(const std::vector<ResidentStub> shims, ResidentStub::FindAll(kGpuShim, pid, memory));
  for (const ResidentStub& shim : shims) {
    if (shim.head.served == nonce && !shim.busy && shim.head.error != PP_GPU_ERROR_NONE) {
      return GpuFailure(pid, {shim.head.error, shim.head.error_step, shim.head.error_number, 0, 0, ""});
    }
  }
  return {};
}

class ResidentShim {
 public:
  ResidentShim(const InjectionTarget& target, RemoteMemory& memory, const TargetFiles& files)
      : target_(target), memory_(memory), files_(files) {}

  // Returns nullopt if there is no shim. kAlreadyExists: a shim does not end its work for a collector that is gone.
  Result<std::optional<ResidentStub>> Find() {
    const Nanos deadline = MonotonicNow() + kEndOfOtherShims;
    for (;;) {
      PP_ASSIGN_OR_RETURN(const std::vector<ResidentStub> shims, ResidentStub::FindAll(kGpuShim, target_.pid, memory_));
      // In a forked child the block still has the state of the parent, with the parent's pid.
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
                       fmt::format("the GPU of process {} is being recorded already, or the shim of an earlier capture "
                                   "still waits for CUPTI",
                                   target_.pid.value),
                       "Wait for the end of that capture, or cancel it.", ThingOf(target_.pid));
      }
      PP_RETURN_IF_ERROR(SendAway());
    }
  }

  uint64_t sessions() const { return sessions_; }  // valid once Find has returned: sum over all resident shims

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

// The arena does not say whether the process was killed.
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
  const GpuArenaShape shape = ShapeOf(image.boot());
  PP_ASSIGN_OR_RETURN(const TargetFiles files, CheckEntry(target, kGpuShim, shape.size(), kShimBytes));
  MemoryTaker<GpuArena, GpuArenaShape> taker(target.pid, files, kGpuShim, shape,
                                             [&] { return FailureOf(target.pid, memory, shape.nonce); });
  ResidentShim resident(target, memory, files);
  const StubEntry entry{image.package(), image.reported(), [&](RunReport*) { return resident.Find(); },
                        [&]() -> Result<bool> {
                          PP_ASSIGN_OR_RETURN(const bool taken, taker.Look());
                          if (taken) {
                            taker.memory().RenewLease();
                          }
                          return taken;
                        }};
  PP_ASSIGN_OR_RETURN(InjectionReport report, Enter(target, memory, files, entry, patience));
  report.took = MonotonicNow() - begin;
  return GpuInjection{std::move(taker.memory()), std::move(taker.file()), report, resident.sessions()};
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
                   "It finishes by itself.", Reason::kUnspecified, ThingOf(pid)};
    }
    arena.RenewLease();
    Pause();
  }
}

}  // namespace ptrace_prof
