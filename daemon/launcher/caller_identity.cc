#include "daemon/launcher/caller_identity.h"

#include <grp.h>
#include <unistd.h>

#include <cerrno>

#include "attach/base/capability_sets.h"

namespace ptrace_prof {

static_assert(sizeof(Gid) == sizeof(gid_t), "groups are handed to the kernel as they are");

int BecomeCaller(const CallerIdentity& caller) {
  const uid_t uid = caller.uid.value;
  const gid_t gid = caller.gid.value;
  const bool is_bound = uid != 0 || (PermittedCapabilities() & uint64_t{1} << CAP_SETGID) == 0;
  if (is_bound && ::getuid() == uid && ::geteuid() == uid) {
    return 0;
  }
  const auto* groups = reinterpret_cast<const gid_t*>(caller.groups.data());
  if (::setgroups(caller.groups.size(), groups) != 0 || ::setresgid(gid, gid, gid) != 0 ||
      ::setresuid(uid, uid, uid) != 0) {
    return errno;
  }
  uid_t uids[3] = {};
  gid_t gids[3] = {};
  if (::getresuid(&uids[0], &uids[1], &uids[2]) != 0 || ::getresgid(&gids[0], &gids[1], &gids[2]) != 0) {
    return errno;
  }
  for (int i = 0; i < 3; ++i) {
    if (uids[i] != uid || gids[i] != gid) {
      return EPERM;
    }
  }
  return uid != 0 && ::setuid(0) == 0 ? EPERM : 0;  // check that root cannot be regained
}

}  // namespace ptrace_prof
