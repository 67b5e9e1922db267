// Why a process cannot be read or traced, in words: the exact cause and the exact remedy.
//
// Called after the kernel said no, never to predict it: the kernel decides. Knows Yama, capabilities, user ids,
// user namespaces, dumpable, seccomp, another tracer, kernel threads, zombies, our own pid, a pid that is not there.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/access_facts.h"

namespace ptrace_prof {

// `err` is the errno of the refused call. Always returns an error with a message and, where there is one, a remedy.
Error ExplainRefusal(Pid pid, int err);

// The same as a pure function: the first rule that fits the facts speaks.
Error ExplainAccess(const AccessFacts& facts);
// The cause in one word, for scripts: "tracer", "seccomp", "user-namespace", "capabilities", "owner", "set-user-id",
// "not-dumpable", "yama", or "lsm" where no rule fits.
std::string_view AccessSubject(const AccessFacts& facts);

// Checks that can be made before touching the target: pid exists, is a process (not a thread id), is not a zombie,
// a kernel thread or ourselves. kNotFound, kInvalidArgument, kFailedPrecondition.
Result<void> CheckTarget(Pid pid);

}  // namespace ptrace_prof
