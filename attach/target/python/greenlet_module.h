// The module `greenlet`, where the program has it, and the functions that switch in it: its methods `switch` and
// `throw`, and the same two of its table for C, by which gevent's compiled code goes. Others (pp_self.switches) are put
// in front of them while a capture is on: four words of the module's data.
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_GREENLET_MODULE_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_GREENLET_MODULE_H_

#include "attach/target/python/stub.h"

enum { PP_METHOD_SWITCH, PP_METHOD_THROW, PP_C_SWITCH, PP_C_THROW, PP_WAYS };

typedef struct pp_switched {
  pp_address interpreter;
  pp_switch* places[PP_WAYS];
  pp_switch before[PP_WAYS];  // what was there
} pp_switched;

#pragma GCC visibility push(hidden)
extern pp_switched pp_switches;

// Whether the program has them. Calls the interpreter, as the next two do.
int pp_has_greenlets(void);
void pp_watch_switches(void);
// A module begins or ends to run: maybe the one that brings greenlets.
PP_COLD void pp_note_module(unsigned tag, pp_address code);
void pp_unwatch_switches(void);
#pragma GCC visibility pop

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_GREENLET_MODULE_H_
