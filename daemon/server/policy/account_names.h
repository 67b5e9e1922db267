// The numbers of users and groups by name, out of /etc/passwd and /etc/group: what a static program can read. Users of
// a directory service have no entry there, and are named to us by their number.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

std::optional<Uid> FindUser(const std::string& name);
std::optional<Gid> FindGroup(const std::string& name);

struct Account {
  std::string name;
  Gid gid;
  std::vector<Gid> groups;  // that the user is a member of, besides
};
std::optional<Account> FindAccount(Uid user);
// Those of the group, as their primary one or another.
std::vector<Uid> MembersOf(Gid group);

}  // namespace ptrace_prof
