// Opens the memory of processes, and stops and resumes single threads, for one collector. It is used if the
// administrator has waived Yama and only kernel.yama.ptrace_scope = 1 keeps the caller from its process. The answers
// are those that the kernel would give with ptrace_scope = 0.
//
// The grantor is a process of its own with CAP_SYS_PTRACE in reserve. Usually it is a child of the launcher and runs as
// the caller. It can also be a child of root's collector: then it runs as the owner of the target, and needs no waiver.
// It answers each request for a process (memory_grants.h) in three steps:
// 1. It asks the kernel without the capability, in the mode that Yama does not restrict: does the process belong to
//    this user, is it dumpable, and has it no capabilities?
// 2. It raises the capability for one call, which opens the memory for reading. Other security modules check that
//    call in the mode of a tracer.
// 3. It repeats the first question, and checks that the process, held by a pidfd since before step 1, still exists.
//    So no other program ran in between whose memory is still there: after an exec, the opened memory is empty.
// It stops threads (PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH; its filter allows no other request) only in
// processes that it granted, one at a time, after the same questions. It parses only that fixed message. It ends when
// the collector does, and a thread that is stopped then goes on.
#pragma once

#include <sys/types.h>

#include "attach/base/unique_fd.h"
#include "daemon/launcher/caller_identity.h"

namespace ptrace_prof {

// The administrator's choice about kernel.yama.ptrace_scope.
enum class YamaRule { kObeyed, kWaived };

struct MemoryGrantor {
  pid_t pid = -1;  // -1: none, because the scope is not 1 or it could not be started
  UniqueFd pidfd;
  UniqueFd line;  // the collector's end
};

// Call for a caller without CAP_SYS_PTRACE, in a process that has this capability permitted.
MemoryGrantor StartMemoryGrantor(const CallerIdentity& caller);

}  // namespace ptrace_prof
