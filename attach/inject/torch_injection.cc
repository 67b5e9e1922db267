#include "attach/inject/torch_injection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "attach/inject/memory_taker.h"
#include "attach/inject/resident_stub.h"
#include "attach/inject/run_call.h"
#include "attach/inject/strategy.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kHookBytes = 1 << 20;  // its tables and its code

TorchArenaShape ShapeOf(const pp_torch_boot& boot) { return {boot.ring_count, boot.ring_records, boot.nonce}; }

// The failure of a hook that could not even make an arena.
Result<void> FailureOf(Pid pid, RemoteMemory& memory, uint64_t nonce) {
  PP_ASSIGN_OR_RETURN(const std::vector<ResidentStub> hooks, ResidentStub::FindAll(kTorchHook, pid, memory));
  for (const ResidentStub& hook : hooks) {
    if (hook.head.served == nonce && !hook.busy && hook.head.error != PP_ERROR_NONE) {
      return StubFailure(hook.head.error, hook.head.error_step, hook.head.error_number);
    }
  }
  return {};
}

// Returns nullopt if there is no hook. One whose collector is gone is asked to leave. If the process runs no operator,
// it does so when it is entered again.
Result<std::optional<ResidentStub>> FindResident(const InjectionTarget& target, RemoteMemory& memory,
                                                 const TargetFiles& files) {
  PP_ASSIGN_OR_RETURN(const std::vector<ResidentStub> hooks, ResidentStub::FindAll(kTorchHook, target.pid, memory));
  const auto busy = std::ranges::find_if(hooks, &ResidentStub::busy);
  if (busy == hooks.end()) {
    return hooks.empty() ? std::optional<ResidentStub>() : hooks.front();
  }
  PP_ASSIGN_OR_RETURN(const std::vector<TargetFile> arenas, files.FindMemfds(kTorchHook.memory_prefix, true));
  for (const TargetFile& arena : arenas) {
    const Result<UniqueFd> file = files.Take(arena);
    if (file.has_value() && file.value().is_open()) {
      PP_RETURN_IF_ERROR(LockFile(target.pid, file.value()));
      TorchArena::AskToLeave(file.value());
    }
  }
  ResidentStub hook = *busy;
  hook.busy = false;
  return std::optional(hook);
}

}  // namespace

Result<TorchInjection> InjectTorch(const InjectionTarget& target, RemoteMemory& memory, const TorchHookFile& image,
                                   const Patience& patience) {
  const Nanos begin = MonotonicNow();
  const TorchArenaShape shape = ShapeOf(image.boot());
  PP_ASSIGN_OR_RETURN(const TargetFiles files, CheckEntry(target, kTorchHook, PP_TORCH_MAX_ARENA, kHookBytes));
  MemoryTaker<TorchArena, TorchArenaShape> taker(target.pid, files, kTorchHook, shape,
                                                 [&] { return FailureOf(target.pid, memory, shape.nonce); });
  const StubEntry entry{image.package(), image.reported(),
                        [&](RunReport*) { return FindResident(target, memory, files); }, [&] { return taker.Look(); }};
  PP_ASSIGN_OR_RETURN(InjectionReport report, Enter(target, memory, files, entry, patience));
  report.took = MonotonicNow() - begin;
  return TorchInjection{std::move(taker.memory()), std::move(taker.file()), report};
}

Result<void> LeaveByCall(const InjectionTarget& target, RemoteMemory& memory, const TorchInjection& injection,
                         uint64_t nonce, const Patience& patience) {
  PP_ASSIGN_OR_RETURN(const std::vector<ResidentStub> hooks, ResidentStub::FindAll(kTorchHook, target.pid, memory));
  const auto ours =
      std::ranges::find_if(hooks, [&](const ResidentStub& hook) { return hook.busy && hook.head.served == nonce; });
  if (ours == hooks.end() || !CanCall(target)) {
    return Error{Code::kFailedPrecondition, "the hook in the process cannot be called", ""};
  }
  CallGuard guard{ours->boot + offsetof(pp_boot_head, nonce), {}, RemoteAddr()};
  std::memcpy(guard.bytes.data(), &nonce, sizeof nonce);
  const uint32_t before = injection.arena.trace_state();
  const auto seen = [&]() -> Result<bool> {
    return injection.arena.has_left() || injection.arena.trace_state() != before;
  };
  RunReport report;
  return RunCall(target, memory, {ours->enter, RemoteAddr()}, guard, patience, seen, &report);
}

void Forget(const TorchInjection& injection) {
  struct stat info {};
  if (::fstat(injection.file.get(), &info) == 0 && info.st_size > static_cast<off_t>(PP_PAGE)) {
    (void)::fallocate(injection.file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PP_PAGE,
                      info.st_size - static_cast<off_t>(PP_PAGE));
  }
}

}  // namespace ptrace_prof
