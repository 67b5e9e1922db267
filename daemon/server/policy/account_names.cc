#include "daemon/server/policy/account_names.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace ptrace_prof {
namespace {

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

bool IsMember(const group& one, const std::string& name) {
  char** member = one.gr_mem;
  while (*member != nullptr && name != *member) {
    ++member;
  }
  return *member != nullptr;
}

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

std::optional<Account> FindAccount(Uid user) {
  const File users(::fopen("/etc/passwd", "re"), &::fclose);
  const passwd* entry = nullptr;
  do {
    entry = users == nullptr ? nullptr : ::fgetpwent(users.get());
  } while (entry != nullptr && Uid(entry->pw_uid) != user);
  if (entry == nullptr) {
    return std::nullopt;
  }
  Account account{entry->pw_name, Gid(entry->pw_gid), {}};
  const File groups(::fopen("/etc/group", "re"), &::fclose);
  while (const group* one = groups == nullptr ? nullptr : ::fgetgrent(groups.get())) {
    if (IsMember(*one, account.name) && Gid(one->gr_gid) != account.gid) {
      account.groups.push_back(Gid(one->gr_gid));
    }
  }
  return account;
}

std::vector<Uid> MembersOf(Gid wanted) {
  std::vector<std::string> names;
  const File groups(::fopen("/etc/group", "re"), &::fclose);
  while (const group* one = groups == nullptr ? nullptr : ::fgetgrent(groups.get())) {
    for (char** member = one->gr_mem; Gid(one->gr_gid) == wanted && *member != nullptr; ++member) {
      names.emplace_back(*member);
    }
  }
  std::vector<Uid> members;
  const File users(::fopen("/etc/passwd", "re"), &::fclose);
  while (const passwd* entry = users == nullptr ? nullptr : ::fgetpwent(users.get())) {
    if (Gid(entry->pw_gid) == wanted || std::ranges::find(names, entry->pw_name) != names.end()) {
      members.push_back(Uid(entry->pw_uid));
    }
  }
  return members;
}

}  // namespace ptrace_prof
