// Opens the memory of processes for one collector, and stops and lets go of single threads of them, where nothing but
// kernel.yama.ptrace_scope = 1 keeps it from its caller, and the administrator has waived that. The answers are those
// that the kernel would give with the scope at 0.
//
// A process of its own: a child of the launcher's, as the caller, or of a collector of root's, as the owner of its
// target, which needs no waiver. It has CAP_SYS_PTRACE in reserve. Of each process that the collector asks for
// (memory_grants.h) it first asks the kernel without that right, and in the mode that Yama leaves alone: is this its
// user's own, dumpable, without capabilities? Then it takes the right up for one call, which opens the memory for
// reading: other security modules are asked there, in the mode of a tracer. Then it asks again, and whether the
// process, held by a pidfd since before the first question, is there still: what may be looked at before and after was
// no other program in between whose memory lives on. An exec leaves nothing to read behind what was opened. It stops
// threads (PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH; its filter knows no other request) only of processes that it
// granted, one at a time, after the same questions. It parses nothing but that fixed message, and ends when the
// collector does; what it holds then goes on.
#pragma once

#include <sys/types.h>

#include "attach/base/unique_fd.h"
#include "daemon/launcher/caller_identity.h"

namespace ptrace_prof {

// What the administrator says about kernel.yama.ptrace_scope.
enum class YamaRule { kObeyed, kWaived };

struct MemoryGrantor {
  pid_t pid = -1;  // -1: there is none, because the scope is not 1 or it could not be started
  UniqueFd pidfd;
  UniqueFd line;  // the collector's end
};

// For a caller without CAP_SYS_PTRACE. The process that calls this has it, permitted.
MemoryGrantor StartMemoryGrantor(const CallerIdentity& caller);

}  // namespace ptrace_prof
