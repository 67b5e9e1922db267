// Which certificates may connect over TCP, and for which users of this machine each may act.
//
// A rule with `user` acts for that user; one with `impersonate`, for the listed user that a call names; one with
// `munge`, for the listed user that munged reports for the call. The list of users is complete when the rule is made,
// so that the launcher can be given it once, before any client connects. Plain data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

struct LocalUser {
  std::string name;  // empty: not in /etc/passwd
  Uid uid;
  Gid gid;
  std::vector<Gid> groups;
};

struct IdentityRule {
  std::string name;
  std::vector<std::string> common_names;  // "*": any certificate
  std::vector<std::string> uris;
  std::vector<LocalUser> users;
  bool impersonates = false;  // a call names one of `users`; otherwise there is one user
  bool asks_munge = false;    // munged, not the call, says which of `users` it is
  bool allows_root = false;   // the rule expressly allows root or the overflow user
  std::string text;

  bool Fits(std::string_view common_name, const std::vector<std::string>& certificate_uris) const;
  // By name or number; null: not in `users`.
  const LocalUser* FindUser(std::string_view wanted) const;
  const LocalUser* FindUser(Uid wanted) const;
};

}  // namespace ptrace_prof
