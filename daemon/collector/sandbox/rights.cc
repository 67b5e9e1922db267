#include "daemon/collector/sandbox/rights.h"

#include <fmt/format.h>
#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "attach/base/capability_sets.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kSetuid = uint64_t{1} << CAP_SETUID;

Result<void> Keep(uint64_t permitted, uint64_t effective) {
  const int refused = SetCapabilities({permitted, effective, 0});
  return refused == 0 ? Result<void>() : ErrnoError(refused, "cannot give up capabilities");
}

// Becomes the owner; capabilities stay permitted for the moment.
Result<void> BecomeOwner(const TargetOwner& owner) {
  if (::geteuid() != 0 || owner.uid == ::getuid()) {
    return {};
  }
  if ((PermittedCapabilities() & (kSysPtrace | kSetuid)) == 0) {
    return {};  // this root may neither read others nor become them; the kernel's refusal explains it better
  }
  ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
  if (::setgroups(0, nullptr) != 0 || ::setresgid(owner.gid, owner.gid, owner.gid) != 0 ||
      ::setresuid(owner.uid, owner.uid, owner.uid) != 0) {
    Error error = ErrnoError(errno, fmt::format("root cannot become user {} to read that user's process", owner.uid),
                             "run as that user, or give the container CAP_SETUID and CAP_SETGID");
    error.reason = Reason::kCannotBecomeOwner;
    error.code = CodeOf(error.reason);
    return error;
  }
  ::prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
  return {};
}

void ForbidRegaining() {
  DropBounds(0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

constexpr uint64_t kToStartOwners = kSysPtrace | kSetuid | uint64_t{1} << CAP_SETGID | uint64_t{1} << CAP_KILL;

}  // namespace

Result<bool> KeepRightsToStartOwners() {
  ForbidRegaining();
  const uint64_t kept = PermittedCapabilities() & kToStartOwners;
  PP_RETURN_IF_ERROR(Keep(kept, kept));
  return kept != 0;
}

Result<RightsKept> SurrenderRights(const TargetOwner& owner, const std::function<int()>& probe) {
  ForbidRegaining();
  PP_RETURN_IF_ERROR(BecomeOwner(owner));
  const uint64_t reserve = PermittedCapabilities() & kSysPtrace;
  PP_RETURN_IF_ERROR(Keep(reserve, 0));
  int refused = probe();
  if (refused == 0) {
    PP_RETURN_IF_ERROR(Keep(0, 0));
    return RightsKept::kNone;
  }
  if (reserve != 0) {
    PP_RETURN_IF_ERROR(Keep(reserve, reserve));
    refused = probe();
    if (refused == 0) {
      return RightsKept::kToPtrace;
    }
  }
  return Error{Code::kPermissionDenied, "the kernel refuses access to the target", ""};
}

}  // namespace ptrace_prof
