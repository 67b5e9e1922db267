// The numbers of users and groups by name, out of /etc/passwd and /etc/group: what a static program can read. Users of
// a directory service have no entry there, and are named to us by their number.
#pragma once

#include <optional>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

std::optional<Uid> FindUser(const std::string& name);
std::optional<Gid> FindGroup(const std::string& name);

}  // namespace ptrace_prof
