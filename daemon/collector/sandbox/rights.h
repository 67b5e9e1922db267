// Gives up every right that reading the target does not need, before its first byte is read. The target is treated as
// the attacker.
//
// Root becomes the owner of the target. All capabilities are dropped; if `probe` then shows that the kernel refuses,
// exactly CAP_SYS_PTRACE stays (Yama, a target with capabilities or in another user namespace, a process that is not
// dumpable). The kernel always decides whether the target may be read. Call once, from a process with one thread. Does
// not use /proc.
#pragma once

#include <cstdint>
#include <functional>

#include "attach/base/result.h"

namespace ptrace_prof {

struct TargetOwner {
  uint32_t uid = 0;
  uint32_t gid = 0;
};

enum class RightsKept : uint8_t {
  kNone,
  kToPtrace,  // CAP_SYS_PTRACE
};

// `probe` asks the kernel and returns 0 or the errno of its refusal. kPermissionDenied: refused with all the rights
// that we may use; the caller has to explain it. kFailedPrecondition: root cannot become the owner (no CAP_SETUID).
Result<RightsKept> SurrenderRights(const TargetOwner& owner, const std::function<int()>& probe);

// For a process that reads no target itself and starts children that do, each of which surrenders its rights. Keeps
// what is needed to become an owner, to look at processes and to kill the children; drops all else for good. False:
// there is nothing to keep, as for an ordinary user.
Result<bool> KeepRightsToStartOwners();

}  // namespace ptrace_prof
