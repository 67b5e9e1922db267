// Brings the stub into a process, or finds it there, and takes over the memory that it shares: the whole way.
//
//   is it there already? ─ yes ─► tell it ─► queue its entry ─┐
//            └─ no ─► choose a strategy ─► deliver ───────────┴─► its channel, ready
//
// Whatever ends the way early leaves the target as it was, but for a stub that was loaded and does nothing. One thread,
// the one that may trace.
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
  UniqueFd file;  // of the channel: with it goes the lock that keeps other collectors away
  InjectionReport report;
};

// `image`: filled in (nonce, rings, names …); its lease must outlast the patience, or the stub may have gone before it
// is seen. The first error of the strategies when none applies; see also Delivery,
// QueuedCall and Channel. kAlreadyExists: another collector traces this process.
Result<Injection> Inject(const InjectionTarget& target, RemoteMemory& memory, const StubFile& image,
                         const Patience& patience);

// Has the stub take itself off by a call in the queue, for a target that is not in Python code: asks for it, and does
// not wait. The hooks also take themselves off at their next event once the channel asks to (Channel::AskToLeave).
Result<QueuedCall> QueueLeave(const InjectionTarget& target, RemoteMemory& memory, const Channel& channel,
                              Nanos deadline);

}  // namespace ptrace_prof
