// The rights that a collector starts with: the weaker ones of the caller's and the target owner's.
//
// The collector of an ordinary user runs as that user, without capabilities, so the kernel checks every call. Root's
// collector runs as the owner of the target, because it parses what that owner wrote. It keeps only CAP_SYS_PTRACE, and
// only if the kernel refuses the owner (not dumpable, Yama, a target with capabilities, another user namespace). A root
// without CAP_SYS_PTRACE (as in a container) gets a collector that runs as root without capabilities.
#pragma once

#include <cstdint>

#include "attach/base/unique_fd.h"
#include "daemon/launcher/caller_identity.h"

namespace ptrace_prof {

struct CollectorRights {
  CallerIdentity who;  // with the most capabilities that it may have
  Pid target;          // 0: no target; the capabilities in `who` stay
  UniqueFd pinned;     // pidfd of the target, owned by `who`; open if there is a target
};

// Call before the fork. If the target has ended or ends meanwhile, no capability is kept; the collector reports that.
CollectorRights ChooseRights(const CallerIdentity& caller, Pid target);

// Call in the forked child. Takes the rights for good. Returns 0 or the errno.
[[nodiscard]] int TakeRights(const CollectorRights& rights);

}  // namespace ptrace_prof
