// CPython's eval breaker: the word whose bits make a thread of the target check its queue of pending calls.
#pragma once

#include "attach/base/result.h"
#include "attach/inject/remote_writer.h"
#include "attach/proc/call_queue.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// Sets the bits of the breaker and keeps all others. Call it only while all threads of the target are stopped: they
// change the list of a breaker, and a thread's element is freed with the thread. The walk is bounded and skips elements
// with another owner.
Result<void> SetEvalBreaker(RemoteMemory& memory, RemoteWriter& writer, const EvalBreaker& breaker);

// Clears the bits unless the target set them too, as far as that is known (EvalBreaker::reasons). Needs the same stop.
Result<void> ClearEvalBreaker(RemoteMemory& memory, RemoteWriter& writer, const EvalBreaker& breaker);

// Whether the breaker would block a thread for good: a thread whose calls are traced, by us or another tool
// (TracedFlags).
bool HoldsAThread(RemoteMemory& memory, const CallQueue& queue);

}  // namespace ptrace_prof
