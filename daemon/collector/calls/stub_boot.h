// What a stub must be told about its target, gathered from what we know of CPython: functions, offsets, and the plain
// facts that attach/inject needs to bring it there.
//
// Reads the target without stopping it or writing anything: every refusal that can be known beforehand comes from here.
// Stateless.
#pragma once

#include "attach/abi/boot.h"
#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/injection_target.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

// Everything of pp_boot that is true of the interpreter: traits, functions, offsets, the target's own pid, and the
// clock that both sides can read. The caller adds nonce, names, rings, lease and flags.
Result<pp_boot> DescribeForStub(Pid pid, RemoteMemory& memory, const PythonProcess& process);

// The way into the main interpreter of a process. Errors as of FindPendingCalls (symbolizer/cpython/pending_calls.h).
Result<InjectionTarget> DescribeForInjection(Pid pid, RemoteMemory& memory, const PythonProcess& process);

}  // namespace ptrace_prof
