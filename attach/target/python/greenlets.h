// The functions put in front of those that switch between greenlets: see greenlets.c.
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_GREENLETS_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_GREENLETS_H_

#include "attach/target/python/greenlet_module.h"

#pragma GCC visibility push(hidden)
extern const pp_switch pp_greenlet_switches[PP_WAYS];
#pragma GCC visibility pop

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_GREENLETS_H_
