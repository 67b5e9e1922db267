// CPython's eval breaker: the word whose bits make a thread of the target look at its queue of pending calls.
#pragma once

#include "attach/base/result.h"
#include "attach/inject/remote_writer.h"
#include "attach/proc/call_queue.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// Sets the bits of the breaker; all others stay. Only while all threads of the target are stopped: the list of a
// breaker is theirs, and what belongs to a thread goes with it. Bounded; elements that name another owner are left
// alone.
Result<void> SetEvalBreaker(RemoteMemory& memory, RemoteWriter& writer, const EvalBreaker& breaker);

// Clears the bits where nobody else set them, as far as that is known (EvalBreaker::reasons). Under the same condition.
Result<void> ClearEvalBreaker(RemoteMemory& memory, RemoteWriter& writer, const EvalBreaker& breaker);

// Whether the breaker would hold a thread for good: one whose calls are traced, by us or by another (TracedFlags).
bool HoldsAThread(RemoteMemory& memory, const CallQueue& queue);

}  // namespace ptrace_prof
