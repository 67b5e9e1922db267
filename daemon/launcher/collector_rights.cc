#include "daemon/launcher/collector_rights.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "attach/base/capability_sets.h"
#include "attach/proc/memory_grants.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

// Keeps capabilities across exec, also for a user other than root.
int Keep(uint64_t capabilities) {
  if (const int refused = SetCapabilities({capabilities, capabilities, capabilities}); refused != 0) {
    return refused;
  }
  for (int capability = 0; capability <= kLastCapability; ++capability) {
    if ((capabilities >> capability & 1) != 0 && ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) != 0) {
      return errno;
    }
  }
  return 0;
}

// Keeps CAP_SYS_PTRACE, and only if the kernel refuses access to the target without it.
int KeepWhatTheTargetNeeds(const CollectorRights& rights, uint64_t available) {
  const uint64_t reserve = available & kSysPtrace;
  if (const int refused = SetCapabilities({reserve, 0, reserve}); refused != 0) {
    return refused;
  }
  const bool is_needed = ProbeMemory(rights.target) == EPERM && !HasExited(rights.pinned);
  return Keep(is_needed ? reserve : 0);
}

}  // namespace

CollectorRights ChooseRights(const CallerIdentity& caller, Pid target) {
  CollectorRights rights{caller, Pid(), UniqueFd()};
  const bool may_read_all = caller.uid.value == 0 && (caller.capabilities & kSysPtrace) != 0;
  if (!may_read_all) {
    rights.who.capabilities = 0;
  }
  if (!may_read_all || target.value == 0) {
    return rights;
  }
  auto pinned = OpenPidfd(target);
  const auto status = ReadProcessStatus(target);
  if (pinned.has_error() || status.has_error() || HasExited(pinned.value())) {
    rights.who.capabilities = 0;
    return rights;
  }
  rights.target = target;
  rights.pinned = std::move(pinned).value();
  rights.who.uid = Uid(status.value().uid_real);
  rights.who.gid = Gid(status.value().gid_real);
  rights.who.groups.clear();
  return rights;
}

int TakeRights(const CollectorRights& rights) {
  const uint64_t permitted = PermittedCapabilities();
  const uint64_t available = rights.who.capabilities & permitted;
  // A capability can become inheritable only while it is in the bounding set.
  if (const int refused = SetCapabilities({permitted, permitted, available}); refused != 0) {
    return refused;
  }
  DropBounds(0);
  ::prctl(PR_SET_KEEPCAPS, available != 0 ? 1 : 0, 0, 0, 0);
  if (const int refused = BecomeCaller(rights.who); refused != 0) {
    return refused;
  }
  ::prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
  return rights.target.value != 0 ? KeepWhatTheTargetNeeds(rights, available) : Keep(available);
}

}  // namespace ptrace_prof
