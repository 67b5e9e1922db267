// A program of ours that is held on its way from its first instruction until its calls are traced.
//
// The thread that starts the program is its tracer from before the exec (PTRACE_SEIZE). The program stops at each of
// its system calls and goes on only while somebody waits for what it is to do next: PauseOrStep() lets it go to its
// next stop. So it can be anywhere between two system calls, but never further than the one after which it was ready.
// It sees none of this; when the tracer dies, the kernel lets it go on.
//
// Let go before its time, as if nobody had held it: a program that is stopped by a signal (job control), that is about
// to run a program with rights of its owner or with capabilities (a tracer would take them from it), or is held for too
// long. One program at a time and thread; all functions are for the thread that called HoldStart. StoppedThreads knows
// of it.
#pragma once

#include "attach/base/types.h"

namespace ptrace_prof {

// `child` must wait until this has returned, for whatever it does next. False: it may not be traced, and is not held.
bool HoldStart(Pid child);
// Since HoldStart, without a gap.
bool IsHeld(Pid pid);
// In place of a nap: a program that is held goes to its next stop, for which the nap is the longest wait. Where none is
// held, the nap is slept.
void PauseOrStep(Nanos nap);
void LetStartGo();

// For StoppedThreads. False: it has ended, or did not come to a stop until then.
bool StopHeldStart(Nanos deadline);

}  // namespace ptrace_prof
