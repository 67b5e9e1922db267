#include "daemon/policy/account_names.h"

#include <grp.h>
#include <pwd.h>

#include <cstdio>
#include <memory>

namespace ptrace_prof {
namespace {

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

}  // namespace

std::optional<Uid> FindUser(const std::string& name) {
  const File file(::fopen("/etc/passwd", "re"), &::fclose);
  while (const passwd* entry = file == nullptr ? nullptr : ::fgetpwent(file.get())) {
    if (name == entry->pw_name) {
      return Uid(entry->pw_uid);
    }
  }
  return std::nullopt;
}

std::optional<Gid> FindGroup(const std::string& name) {
  const File file(::fopen("/etc/group", "re"), &::fclose);
  while (const group* entry = file == nullptr ? nullptr : ::fgetgrent(file.get())) {
    if (name == entry->gr_name) {
      return Gid(entry->gr_gid);
    }
  }
  return std::nullopt;
}

}  // namespace ptrace_prof
