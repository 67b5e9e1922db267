// Measures the cost of an event: see event_cost.c.
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_EVENT_COST_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_EVENT_COST_H_

#include "attach/target/python/stub.h"

#pragma GCC visibility push(hidden)
// Switches the events of one code object on or off. Returns whether that succeeded.
typedef int (*pp_report_code)(pp_object* code, int is_reported);
// The cost of an event, measured with a function of one parameter (`function` is its text) that has so many events per
// call.
pp_cost pp_measure(const char* function, unsigned events_of_a_call, pp_report_code report);
#pragma GCC visibility pop

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_EVENT_COST_H_
