// The time of events: ticks of the counter, or nanoseconds of CLOCK_MONOTONIC (pp_self.clock).
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_CLOCK_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_CLOCK_H_

#include "attach/target/python/stub.h"

#pragma GCC visibility push(hidden)
PP_COLD uint64_t pp_nanoseconds(void);
#pragma GCC visibility pop

static inline uint64_t pp_now(void) { return pp_likely(pp_self.clock == PP_CLOCK_TSC) ? pp_ticks() : pp_nanoseconds(); }

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_CLOCK_H_
