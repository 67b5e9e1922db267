// The administrator's policy: who may profile what, within what the kernel lets them, and how much of it at once.
//
// It only narrows, but for `waives_yama`, of which the launcher is told when it is forked. "Allowed" here means that
// the policy has nothing against it; whether a process may be read remains the kernel's answer. Rules are tried in
// their order, and the first that fits decides, as in a firewall: so an exception stands before what it is an exception
// of. Where none fits, the default decides. Quotas are found the same way.
//
// It is judged in the daemon's main process, on facts that no caller can make up: who asks is the kernel's word of the
// connection, and what the target is was looked up by the launcher, which holds it by a pidfd meanwhile. The launcher
// does not judge: rules out of a file need a parser, patterns and messages, which have no place in the part that has
// rights, and a file that is read again and again (SIGHUP) would have to come from main anyway. Whoever takes main over
// could pass the policy by, and then still reaches no further than the kernel lets those who are connected.
//
// Pure data and pure functions: it knows no file and no process. A value that is not changed after it was made.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/types.h"
#include "daemon/server/policy/identity_rule.h"
#include "daemon/server/policy/target_facts.h"
#include "daemon/server/policy/user_quota.h"
#include "rpc/messages/name_glob.h"

namespace ptrace_prof {

struct PolicyCaller {
  Uid uid;
  Gid gid;
  std::vector<Gid> groups;
};

// Whom something is for: who is one of those users and in one of those groups; empty: whoever it is.
struct PolicySubject {
  std::vector<Uid> users;
  std::vector<Gid> groups;
};

// All of what it says must fit; of several values of one thing, any.
struct PolicyRule {
  std::string name;
  bool allows = false;
  PolicySubject callers;
  std::vector<Uid> owners;           // of the target
  std::vector<NameGlob> commands;    // comm
  std::vector<NameGlob> programs;    // exe
  std::vector<NameGlob> containers;  // as `ptrace-prof ps` shows them
  std::vector<NameGlob> cgroups;     // paths
  std::string text;                  // as it was written, to see whether it has changed
};

struct PolicyQuota {
  PolicySubject callers;
  UserQuota quota;
  std::string text;
};

struct PolicyVerdict {
  bool allowed = true;
  std::string rule;  // that decided; empty: none fitted
};

struct Policy {
  bool allows_by_default = true;
  bool waives_yama = false;  // the one thing that widens: what kernel.yama.ptrace_scope = 1 keeps users from
  std::vector<PolicyRule> rules;
  std::vector<PolicyQuota> quotas;
  std::optional<double> cpu_share;  // of the machine's cores, for all collectors together; nothing: no limit
  std::vector<IdentityRule> identities;
  std::string munge_socket;  // of the munged that identities ask; empty: where it usually is

  // The first that fits; null: none.
  const IdentityRule* FindIdentity(std::string_view common_name, const std::vector<std::string>& uris) const;
  // A fact that could not be found out fits a rule that denies, and none that allows.
  PolicyVerdict Judge(const PolicyCaller& caller, const TargetFacts& target) const;
  UserQuota QuotaOf(const PolicyCaller& caller) const;
  // Its rules and default alone, as they are for that caller: whoever is judged by them is judged as that one would be.
  Policy About(const PolicyCaller& caller) const;
  // False: Judge says the same of every caller and every target, yes.
  bool denies_anything() const;
};

// "rules added: a, b; removed: c; default: deny"; "nothing".
std::string PolicyChanges(const Policy& before, const Policy& after);

}  // namespace ptrace_prof
