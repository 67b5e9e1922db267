#include "daemon/server/program/daemon_user.h"

#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>

namespace ptrace_prof {
namespace {

constexpr char kOwnUser[] = "ptrace-prof";
constexpr char kNobody[] = "nobody";

// Reads /etc/passwd directly: a static program can use nothing else, and system users are there.
std::optional<DaemonUser> FindUser(std::string_view name) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(::fopen("/etc/passwd", "re"), &::fclose);
  while (const passwd* entry = file == nullptr ? nullptr : ::fgetpwent(file.get())) {
    if (name == entry->pw_name && entry->pw_uid != 0) {
      return DaemonUser{Uid(entry->pw_uid), Gid(entry->pw_gid), std::string(name)};
    }
  }
  return std::nullopt;
}

Error Refused(int reason, std::string_view what) {
  return ErrnoError(reason, fmt::format("cannot give up rights: {}", what),
                    "give the container CAP_SETUID, CAP_SETGID and CAP_SETPCAP, or start it as an ordinary user");
}

}  // namespace

Result<DaemonUser> ChooseDaemonUser() {
  if (::geteuid() != 0) {
    return DaemonUser{Uid(::getuid()), Gid(::getgid()), ""};
  }
  for (const char* name : {kOwnUser, kNobody}) {
    if (auto user = FindUser(name); user.has_value()) {
      return *user;
    }
  }
  return Error{Code::kFailedPrecondition,
               "there is no user to run as: neither ptrace-prof nor nobody is in /etc/passwd",
               "useradd --system ptrace-prof"};
}

Result<void> DropRights(const DaemonUser& user) {
  for (int capability = 0; capability <= 63; ++capability) {
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);  // fails for an ordinary user, who has nothing to drop
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  const gid_t gid = user.gid.value;
  const uid_t uid = user.uid.value;
  if (::geteuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setresgid(gid, gid, gid) != 0 || ::setresuid(uid, uid, uid) != 0)) {
    return Refused(errno, fmt::format("becoming the user {}", user.name));
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) {
    return Refused(errno, "capabilities");
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return Refused(errno, "no_new_privs");
  }
  return {};
}

}  // namespace ptrace_prof
