#include "daemon/launcher/launcher_rights.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace ptrace_prof {
namespace {

// To become the caller; to kill a collector that does not end; to see in which user namespace a caller lives; for a
// collector that root asked for: to become the target's owner, to read its memory, its environment, its mapped files.
constexpr int kKept[] = {CAP_SETUID,     CAP_SETGID,          CAP_SETPCAP,           CAP_KILL,
                         CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE};

}  // namespace

void KeepLaunchingRights() {
  uint64_t kept = 0;
  for (const int capability : kKept) {
    kept |= uint64_t{1} << capability;
  }
  for (int capability = 0; capability <= 63; ++capability) {
    if ((kept >> capability & 1) == 0) {
      ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) == 0) {
    for (int word = 0; word < 2; ++word) {
      data[word].permitted &= static_cast<uint32_t>(kept >> (32 * word));
      data[word].effective = data[word].permitted;
      data[word].inheritable = 0;
    }
    ::syscall(SYS_capset, &header, data);
  }
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

}  // namespace ptrace_prof
