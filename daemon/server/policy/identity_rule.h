// Who may come over TCP, and as whom: a certificate by its names, and the users of this machine that it speaks for.
//
// Of a rule with `user`, that one; of one with `impersonate`, whomever of a list a call names, or, with `munge`,
// whomever of it munged says that a call is by. The users are complete when the rule is made, so that whoever starts
// processes as them can be told once, before anybody connects. Pure data.
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
  std::vector<std::string> common_names;  // "*": of any certificate
  std::vector<std::string> uris;
  std::vector<LocalUser> users;
  bool impersonates = false;  // a call names one of them; else there is one
  bool asks_munge = false;    // and no call is believed: munged says which of them it is
  bool allows_root = false;   // expressly: they may be root, or nobody
  std::string text;

  bool Fits(std::string_view common_name, const std::vector<std::string>& certificate_uris) const;
  // By name or number; null: none of them.
  const LocalUser* FindUser(std::string_view wanted) const;
  const LocalUser* FindUser(Uid wanted) const;
};

}  // namespace ptrace_prof
