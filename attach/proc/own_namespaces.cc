#include "attach/proc/own_namespaces.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "attach/proc/proc_file.h"

namespace ptrace_prof {
namespace {

std::optional<bool> InOurs(Pid pid, const std::string& name) {
  struct stat ours {};
  struct stat theirs {};
  if (::stat(("/proc/self/" + name).c_str(), &ours) != 0 || ::stat(ProcPath(pid, name).c_str(), &theirs) != 0) {
    return std::nullopt;
  }
  return ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

}  // namespace

std::optional<bool> InOurUserNamespace(Pid pid) { return InOurs(pid, "ns/user"); }

std::optional<bool> InOurPidNamespace(Pid pid) { return InOurs(pid, "ns/pid"); }

Uid OverflowUid() {
  uint32_t uid = 65534;
  std::ifstream("/proc/sys/kernel/overflowuid") >> uid;
  return Uid(uid);
}

}  // namespace ptrace_prof
