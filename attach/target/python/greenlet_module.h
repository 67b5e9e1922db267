// The module `greenlet`, if the program has it, and its functions that switch: the methods `switch` and `throw`, and
// the same two in its C API table, which gevent's compiled code uses. While a capture is active, ours
// (pp_self.switches) are put in front of them: four words of the module's data.
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_GREENLET_MODULE_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_GREENLET_MODULE_H_

#include "attach/target/python/stub.h"

enum { PP_METHOD_SWITCH, PP_METHOD_THROW, PP_C_SWITCH, PP_C_THROW, PP_WAYS };

typedef struct pp_switched {
  pp_address interpreter;
  pp_switch* places[PP_WAYS];
  pp_switch before[PP_WAYS];  // the original functions
} pp_switched;

#pragma GCC visibility push(hidden)
extern pp_switched pp_switches;

// Whether the program has greenlets. Calls the interpreter, as the next two do.
int pp_has_greenlets(void);
void pp_watch_switches(void);
// Notes that a module begins or ends to run: it may be the one that imports greenlets.
PP_COLD void pp_note_module(unsigned tag, pp_address code);
void pp_unwatch_switches(void);
#pragma GCC visibility pop

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_GREENLET_MODULE_H_
