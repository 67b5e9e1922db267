// Collects what a stub needs to know about its target from our knowledge of CPython (functions, offsets), and the facts
// that attach/inject needs to load it.
//
// Reads the target without stopping it or writing to it. All refusals that can be known beforehand come from here.
// Stateless.
#pragma once

#include "attach/abi/boot.h"
#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/injection_target.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

// The part of pp_boot that describes the interpreter: traits, functions, offsets, the target's own pid, and a clock
// that both sides can read. The caller adds nonce, names, rings, lease and flags.
Result<pp_boot> DescribeForStub(Pid pid, RemoteMemory& memory, const PythonProcess& process);

// How to enter the main interpreter of a process. Errors as FindPendingCalls (symbolizer/cpython/pending_calls.h).
Result<InjectionTarget> DescribeForInjection(Pid pid, RemoteMemory& memory, const PythonProcess& process);

}  // namespace ptrace_prof
