// Gives up every right that reading the target does not need, before its first byte is read: the target is the
// attacker here.
//
// Root becomes the owner of the target. All capabilities go, unless the kernel, asked by `probe`, then refuses:
// in that case exactly CAP_SYS_PTRACE stays (Yama, a target with capabilities or in another user namespace, a
// process that is not dumpable). Whether the target may be read is always the kernel's answer, never our guess.
// Call once, from a process with one thread. Knows nothing about /proc.
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

// `probe` asks the kernel and returns 0 or the errno of its refusal.
// kPermissionDenied: refused with all the rights that we may use; the caller knows the words for it.
// kFailedPrecondition: root cannot become the owner (no CAP_SETUID).
Result<RightsKept> SurrenderRights(const TargetOwner& owner, const std::function<int()>& probe);

// For a process that itself reads no target, and starts children that do, each of which surrenders its rights: what
// they need to become owners, to look at processes and to be ended stays, all else goes for good. False: there is
// nothing to be kept, as with an ordinary user.
Result<bool> KeepRightsToStartOwners();

}  // namespace ptrace_prof
