#include "daemon/launcher/launcher_rights.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>

#include "attach/base/capability_sets.h"
#include "attach/base/denied_system_calls.h"
#include "attach/base/system_call_rules.h"

namespace ptrace_prof {
namespace {

// To become the caller, to kill a collector that does not end, to see a caller's user namespace; and for a collector of
// root's: to become the target's owner, and to read the target's memory, environment and mapped files.
constexpr int kKept[] = {CAP_SETUID,     CAP_SETGID,          CAP_SETPCAP,           CAP_KILL,
                         CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE};

// Collectors inherit this filter, so it must not refuse what they need; their own filter adds to it.
constexpr uint32_t kRefused[] = {SYS_bind,   SYS_listen,  SYS_setxattr, SYS_msgget,        SYS_semget,
                                 SYS_shmget, SYS_mq_open, SYS_kcmp,     SYS_inotify_init1, SYS_setpriority};

}  // namespace

void KeepLaunchingRights() {
  uint64_t kept = 0;
  for (const int capability : kKept) {
    kept |= uint64_t{1} << capability;
  }
  DropBounds(kept);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  kept &= PermittedCapabilities();
  (void)SetCapabilities({kept, kept, 0});
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

bool NarrowSystemCalls() {
  constexpr uint32_t kFamilies[] = {AF_UNIX};
  SystemCallRules rules;
  rules.Refuse(DeniedSystemCalls(), EPERM);
  rules.Refuse(kRefused, EPERM);
  rules.AllowIfOneOf(SYS_socket, 0, kFamilies);
  return rules.Install(SystemCallRules::Rest::kAllowed);
}

}  // namespace ptrace_prof
