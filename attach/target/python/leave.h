// Ends a capture: removes everything from the interpreter, stops recording, and frees the memory.
//
// Called with the GIL held, by any thread that detects the end; if several do so at once, one of them acts.
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_LEAVE_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_LEAVE_H_

#include "attach/target/python/stub.h"

#pragma GCC visibility push(hidden)
// May be called in a callback, in the middle of an event.
PP_COLD void pp_leave_from_hook(enum pp_leave_cause cause);
// For the end of the lease, or a request of the collector.
PP_COLD void pp_leave_as_told(void);
#pragma GCC visibility pop

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_LEAVE_H_
