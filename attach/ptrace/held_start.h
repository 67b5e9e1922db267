// Holds a program that we start, on its way from its first instruction until its calls are traced.
//
// The thread that starts the program is its tracer from before the exec (PTRACE_SEIZE). The program stops at each of
// its system calls and continues only while the starting thread waits for its next action: PauseOrStep() lets it
// continue to its next stop. So it can be anywhere between two system calls, but never further than the one after which
// it was ready. The program does not notice. If the tracer dies, the kernel lets it continue.
//
// It is released early, with no effect on it, if it is stopped by a signal (job control), if it is about to run a
// program with rights of its owner or with capabilities (a tracer would take them away), or if it is held for too long.
// One program at a time and thread; call all functions in the thread that called HoldStart. StoppedThreads takes a held
// program into account.
#pragma once

#include "attach/base/types.h"

namespace ptrace_prof {

// `child` must wait until this has returned before it continues. Returns false if it may not be traced, and is not
// held.
bool HoldStart(Pid child);
// Whether it has been held since HoldStart, without a gap.
bool IsHeld(Pid pid);
// Use in place of a nap: a held program continues to its next stop, for which the nap is the longest wait. If none is
// held, this sleeps for the nap.
void PauseOrStep(Nanos nap);
void LetStartGo();

// For StoppedThreads. Returns false if it has ended, or did not stop in time.
bool StopHeldStart(Nanos deadline);

}  // namespace ptrace_prof
