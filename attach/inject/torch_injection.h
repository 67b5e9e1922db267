// Brings the torch hook into a process, or finds it there, and takes over its arena, by the strategies and the delivery
// of injection.h. From then on the caller must renew the lease. The hook leaves at the first operator after it was
// asked to, or after its lease. While the process runs none, it costs nothing but address space. One thread, the one
// that may trace.
#pragma once

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"
#include "attach/inject/queued_call.h"
#include "attach/inject/stub_entry.h"
#include "attach/inject/stub_file.h"
#include "attach/inject/torch_arena.h"

namespace ptrace_prof {

struct TorchInjection {
  TorchArena arena;
  UniqueFd file;  // of the arena; closing it releases the lock that keeps other collectors away
  InjectionReport report;
};

// `image`: filled in. Errors as of Inject; kAlreadyExists: another collector records the operators of this process.
Result<TorchInjection> InjectTorch(const InjectionTarget& target, RemoteMemory& memory, const TorchHookFile& image,
                                   const Patience& patience);

// Brings the end of a capture that was asked to leave forward in a process that runs no operator, by a call in its
// queue: PyTorch's execution trace is switched off, or else the hook leaves. Returns once the call has run, or at the
// deadline.
Result<void> LeaveByCall(const InjectionTarget& target, RemoteMemory& memory, const TorchInjection& injection,
                         uint64_t nonce, const Patience& patience);

// Frees the memory of an arena whose process does not come to its next operator.
void Forget(const TorchInjection& injection);

}  // namespace ptrace_prof
