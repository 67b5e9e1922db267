// Looks up the numbers of users and groups by name in /etc/passwd and /etc/group, the only source for a static program.
// Users of a directory service have no entry there, so the policy must name them by number.
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
  std::vector<Gid> groups;  // supplementary groups of the user
};
std::optional<Account> FindAccount(Uid user);
// All members, whether the group is primary or supplementary for them.
std::vector<Uid> MembersOf(Gid group);

}  // namespace ptrace_prof
