// Why a process cannot be read or traced, in words: the exact cause and the exact remedy.
//
// Called after the kernel said no, never to predict it: the kernel decides. Knows Yama, capabilities, user ids,
// user namespaces, dumpable, seccomp, another tracer, kernel threads, zombies, our own pid, a pid that is not there.
// A process that gave up rights or put a filter on before it was refused says who it was: see Asker.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/access_facts.h"

namespace ptrace_prof {

// `err` is the errno of the refused call. Always returns an error with a message, a reason and, where there is one, a
// remedy.
Error ExplainRefusal(Pid pid, int err, const Asker& asker);

// The same as a pure function: the first rule that fits the facts speaks, or LSM_DENIED where none does.
Error ExplainAccess(const AccessFacts& facts);

// Checks that can be made before touching the target: pid exists, is a process (not a thread id), is not a zombie,
// a kernel thread or ourselves. kNotFound, kInvalidArgument, kFailedPrecondition; each with its reason.
Result<void> CheckTarget(Pid pid);
// Also while another thread than the first execs: the first has ended then, and the process has not.
bool IsThere(Pid pid);

}  // namespace ptrace_prof
