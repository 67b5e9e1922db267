// Makes the threads of a target look at their queue of calls.
#pragma once

#include "attach/base/result.h"
#include "attach/inject/remote_writer.h"
#include "attach/proc/call_queue.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// Sets the bits of the bell; all others stay. Only while all threads of the target are stopped: the list of a bell is
// theirs, and what belongs to a thread goes with it. Bounded; elements that name another owner are left alone.
Result<void> RingBell(RemoteMemory& memory, RemoteWriter& writer, const CallBell& bell);

// Takes it back where nobody else rang it, as far as that is known (CallBell::reasons). Under the same condition.
Result<void> QuietBell(RemoteMemory& memory, RemoteWriter& writer, const CallBell& bell);

// Whether the bell would hold a thread for good: one whose calls are traced, by us or by another (TracedFlags).
bool HoldsAThread(RemoteMemory& memory, const CallQueue& queue);

}  // namespace ptrace_prof
