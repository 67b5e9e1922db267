#include "daemon/launcher/target_look.h"

#include <limits.h>
#include <unistd.h>

#include <cerrno>

#include "attach/proc/proc_file.h"
#include "attach/proc/procfs.h"
#include "daemon/launcher/launch_message.h"

namespace ptrace_prof {
namespace {

std::string ReadProgram(Pid target) {
  char path[PATH_MAX];
  const ssize_t size = ::readlink(ProcPath(target, "exe").c_str(), path, sizeof path);
  return size > 0 && size < PATH_MAX ? std::string(path, static_cast<size_t>(size)) : "";
}

// A truncated cgroup path would name another cgroup.
std::string ReadCgroup(Pid target) {
  auto text = ReadProcFile(ProcPath(target, "cgroup"), kMaxLookedCgroup);
  return text.has_value() && text.value().size() < kMaxLookedCgroup ? std::move(text).value() : "";
}

}  // namespace

TargetLook LookAtTarget(Pid target) {
  TargetLook look;
  const auto pinned = OpenPidfd(target);
  const auto status = ReadProcessStatus(target);
  if (pinned.has_error() || status.has_error()) {
    look.refused = ESRCH;
    return look;
  }
  look.owner = Uid(status.value().uid_real);
  look.command = status.value().name;
  look.program = ReadProgram(target);
  look.cgroup = ReadCgroup(target);
  if (HasExited(pinned.value())) {
    look = {};  // some of it may belong to another process
    look.refused = ESRCH;
  }
  return look;
}

}  // namespace ptrace_prof
