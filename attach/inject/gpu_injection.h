// Brings the GPU shim into a process, or finds it there, and takes over its arena: as injection.h does for the tracer
// stub, by the same strategies and the same delivery. Both may be in one target.
//
//   InjectGpu ──► arena, kAttaching ── AwaitRecording ──► kRecording ── AskToLeave, AwaitLeft ──► kLeft
//
// From InjectGpu on the lease is to be renewed. Every way has a deadline; what hangs in the target then is the shim's
// own thread, which leaves by itself once it comes back. One thread, the one that may trace.
#pragma once

#include <functional>

#include "attach/base/result.h"
#include "attach/inject/gpu_arena.h"
#include "attach/inject/stub_entry.h"
#include "attach/inject/stub_file.h"

namespace ptrace_prof {

struct GpuInjection {
  GpuArena arena;
  UniqueFd file;  // of the arena: with it goes the lock that keeps other collectors away
  InjectionReport report;
  uint64_t sessions_before;  // of shims of our version in this process: so many captures had records switched on
};

// `image`: filled in. Errors as of Inject; kAlreadyExists: another collector records the GPU of this process.
Result<GpuInjection> InjectGpu(const InjectionTarget& target, RemoteMemory& memory, const GpuShimFile& image,
                               const Patience& patience);

// Until records come. Otherwise the reason why they do not, and the shim has been told to leave:
// Reason::kAttachTimeout where it hangs in a call of the library.
Result<void> AwaitRecording(Pid pid, GpuArena& arena, const Patience& patience);

// Until nothing of ours is switched on any more; it has been asked to. `meanwhile`: called again and again, to drain.
// kDeadlineExceeded: not yet; it goes on with that by itself. kGone: the process has ended; see GpuArena::Salvage.
Result<void> AwaitLeft(Pid pid, GpuArena& arena, Nanos deadline, const std::function<void()>& meanwhile);

}  // namespace ptrace_prof
