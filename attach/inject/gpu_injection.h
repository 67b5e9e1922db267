// Brings the GPU shim into a process, or finds it there, and takes over its arena. It uses the strategies and the
// delivery of injection.h, which brings in the tracer stub. Both may be in one target.
//
//   InjectGpu ──► arena, kAttaching ──► kRecording ── AskToLeave, AwaitLeft ──► kLeft
//
// From InjectGpu on, the caller must renew the lease. Every function has a deadline. If a call of the library hangs, it
// blocks only the shim's own thread, which leaves on its own once the call returns. One thread, the one that may trace.
#pragma once

#include <functional>

#include "attach/base/result.h"
#include "attach/inject/gpu_arena.h"
#include "attach/inject/stub_entry.h"
#include "attach/inject/stub_file.h"

namespace ptrace_prof {

struct GpuInjection {
  GpuArena arena;
  UniqueFd file;  // of the arena; closing it releases the lock that keeps other collectors away
  InjectionReport report;
  uint64_t sessions_before;  // for shims of our version in this process: number of captures that switched records on
};

// `image`: filled in. Errors as of Inject; kAlreadyExists: another collector records the GPU of this process.
Result<GpuInjection> InjectGpu(const InjectionTarget& target, RemoteMemory& memory, const GpuShimFile& image,
                               const Patience& patience);

// Waits until the shim, which must have been asked to leave, has switched everything off. `meanwhile` is called
// repeatedly, to drain. kDeadlineExceeded: not yet; the shim continues on its own. kGone: the process has ended; see
// GpuArena::Salvage.
Result<void> AwaitLeft(Pid pid, GpuArena& arena, Nanos deadline, const std::function<void()>& meanwhile);

}  // namespace ptrace_prof
