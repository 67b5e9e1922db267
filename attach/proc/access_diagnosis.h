// Explains why a process cannot be read or traced: the exact cause and the exact remedy.
//
// Called after the kernel has refused, never to predict a refusal: the kernel decides. Knows Yama, capabilities, user
// ids, user namespaces, dumpable, seccomp, another tracer, kernel threads, zombies, our own pid, and a pid that does
// not exist. A process that gave up rights or installed a filter before the refusal passes its former identity: see
// Asker.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/access_facts.h"

namespace ptrace_prof {

// `err` is the errno of the refused call. Always returns an error with a message, a reason and, if there is one, a
// remedy.
Error ExplainRefusal(Pid pid, int err, const Asker& asker);

// The same as a pure function: the first rule that fits the facts, or LSM_DENIED if none does.
Error ExplainAccess(const AccessFacts& facts);

// Checks that can be made before touching the target: pid exists, is a process (not a thread id), is not a zombie,
// a kernel thread or ourselves. kNotFound, kInvalidArgument, kFailedPrecondition; each with its reason.
Result<void> CheckTarget(Pid pid);
// Also true while a thread other than the first calls exec: the first thread has ended then, but not the process.
bool IsThere(Pid pid);

}  // namespace ptrace_prof
