// Brings the stub into a process, or finds it there, and takes over the memory that it shares.
//
//   is it resident already? ─ yes ─► fill in its boot block ─► queue its entry ─┐
//            └─ no ─► choose a strategy ─► deliver ─────────────────────────────┴─► its channel, ready
//
// An early end leaves the target as it was, except for a stub that may be loaded and does nothing. One thread, the one
// that may trace.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/channel.h"
#include "attach/inject/injection_target.h"
#include "attach/inject/queued_call.h"
#include "attach/inject/stub_entry.h"
#include "attach/inject/stub_file.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

struct Injection {
  Channel channel;
  UniqueFd file;  // of the channel; closing it releases the lock that keeps other collectors away
  InjectionReport report;
};

// `image`: filled in (nonce, rings, names …). Its lease must outlast the patience, or the stub may leave before it is
// seen. If no strategy applies, returns the first one's error; see also Delivery, QueuedCall and Channel.
// kAlreadyExists: another collector traces this process.
Result<Injection> Inject(const InjectionTarget& target, RemoteMemory& memory, const StubFile& image,
                         const Patience& patience);

// Queues a call that makes the stub remove itself, for a target that is not in Python code. Does not wait. The hooks
// also remove themselves at their next event once the channel asks for it (Channel::AskToLeave).
Result<QueuedCall> QueueLeave(const InjectionTarget& target, RemoteMemory& memory, const Channel& channel,
                              Nanos deadline);

}  // namespace ptrace_prof
