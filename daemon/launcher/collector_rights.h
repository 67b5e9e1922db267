// The rights that a collector starts with: the weaker of who asked and who owns the target.
//
// An ordinary caller's collector is that caller, with no capability: the kernel answers at every call. Root, who may
// read anybody's process, gets one that is the owner of the target, because it parses what that owner wrote; and of
// root's capabilities it keeps CAP_SYS_PTRACE alone, and only where the kernel refuses the owner (not dumpable, Yama,
// capabilities of its own, another user namespace). A root that has no CAP_SYS_PTRACE itself (of a container) has no
// business with other users: it stays itself, without any.
#pragma once

#include <cstdint>

#include "attach/base/unique_fd.h"
#include "daemon/launcher/caller_identity.h"

namespace ptrace_prof {

struct CollectorRights {
  CallerIdentity who;  // with what it may have of capabilities at most
  Pid target;          // 0: none: those capabilities stay
  UniqueFd pinned;     // the target, whose owner `who` is; open where there is one
};

// In the launcher, before the fork. A target that is gone, or ends meanwhile, is the collector's to tell: then nothing
// is kept.
CollectorRights ChooseRights(const CallerIdentity& caller, Pid target);

// In the fork: takes them for good. 0, or the errno.
[[nodiscard]] int TakeRights(const CollectorRights& rights);

}  // namespace ptrace_prof
