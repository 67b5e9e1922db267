// How a capture ends: whatever was put into the interpreter is taken off, nothing is told any more, the memory goes.
//
// Called with the GIL held, by whoever comes to know that it is over; of several at once, one does it.
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_LEAVE_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_LEAVE_H_

#include "attach/target/python/stub.h"

#pragma GCC visibility push(hidden)
// Of a callback too, in the middle of an event.
PP_COLD void pp_leave_from_hook(enum pp_leave_cause cause);
// The lease is over, or the collector asked.
PP_COLD void pp_leave_as_told(void);
#pragma GCC visibility pop

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_LEAVE_H_
