// What an event costs: see event_cost.c.
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_EVENT_COST_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_EVENT_COST_H_

#include "attach/target/python/stub.h"

#pragma GCC visibility push(hidden)
// Has the events of one code object told, or not any more. Whether that went well.
typedef int (*pp_tell_code)(pp_object* code, int is_told);
// What an event costs, by a function of one parameter (its text) of which each call has so many events.
pp_cost pp_measure(const char* function, unsigned events_of_a_call, pp_tell_code tell);
#pragma GCC visibility pop

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_EVENT_COST_H_
