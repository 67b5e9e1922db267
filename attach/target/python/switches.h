// Detects which stack a thread is on: see switches.c.
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_SWITCHES_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_SWITCHES_H_

#include "attach/target/python/stub.h"

#pragma GCC visibility push(hidden)
// First records that the thread is on another stack, if it is. False: the event is lost, for lack of room.
PP_COLD int pp_follow(pp_slot* slot, unsigned tag, uint64_t* now);
#pragma GCC visibility pop

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_SWITCHES_H_
