#include "attach/base/capability_sets.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace ptrace_prof {

uint64_t PermittedCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  return ::syscall(SYS_capget, &header, data) == 0 ? data[0].permitted | uint64_t{data[1].permitted} << 32 : 0;
}

int SetCapabilities(const CapabilitySets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  for (int word = 0; word < 2; ++word) {
    data[word].permitted = static_cast<uint32_t>(sets.permitted >> (32 * word));
    data[word].effective = static_cast<uint32_t>(sets.effective >> (32 * word));
    data[word].inheritable = static_cast<uint32_t>(sets.inheritable >> (32 * word));
  }
  return ::syscall(SYS_capset, &header, data) == 0 ? 0 : errno;
}

void DropBounds(uint64_t kept) {
  for (int capability = 0; capability <= kLastCapability; ++capability) {
    if ((kept >> capability & 1) == 0) {
      ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
  }
}

}  // namespace ptrace_prof
