#include "attach/proc/user_namespace.h"

#include <sys/stat.h>

#include <fstream>

#include "attach/proc/proc_file.h"

namespace ptrace_prof {

std::optional<bool> InOurUserNamespace(Pid pid) {
  struct stat ours {};
  struct stat theirs {};
  if (::stat("/proc/self/ns/user", &ours) != 0 || ::stat(ProcPath(pid, "ns/user").c_str(), &theirs) != 0) {
    return std::nullopt;
  }
  return ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

Uid OverflowUid() {
  uint32_t uid = 65534;
  std::ifstream("/proc/sys/kernel/overflowuid") >> uid;
  return Uid(uid);
}

}  // namespace ptrace_prof
