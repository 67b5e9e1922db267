// The administrator's policy: who may profile which processes and how much at once, within what the kernel permits.
//
// A policy only narrows, except for `waives_yama`, which the launcher learns when it is forked. "Allowed" means that
// the policy has no objection; whether a process may be read is still the kernel's decision. Rules are tried in their
// order and the first match decides, as in a firewall, so an exception comes before the rule it limits. If none
// matches, the default decides. Quotas are found the same way.
//
// The daemon's main process judges, by facts that a caller cannot forge: the kernel gives the caller's identity, and
// the launcher looks up the target while it holds a pidfd. The launcher does not judge, because parsing and patterns do
// not belong in privileged code, and a reloaded file (SIGHUP) would come from the main process anyway. An attacker in
// the main process can bypass the policy, and then still reaches only what the kernel permits the connected peers.
//
// Plain data and pure functions, without access to files or processes. A Policy is not changed after it is made.
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

// The callers to whom an entry applies: those in `users` and in one of `groups`. An empty list matches every caller.
struct PolicySubject {
  std::vector<Uid> users;
  std::vector<Gid> groups;
};

// All criteria must match; of several values of one criterion, any.
struct PolicyRule {
  std::string name;
  bool allows = false;
  PolicySubject callers;
  std::vector<Uid> owners;           // of the target
  std::vector<NameGlob> commands;    // comm
  std::vector<NameGlob> programs;    // exe
  std::vector<NameGlob> containers;  // as `ptrace-prof ps` shows them
  std::vector<NameGlob> cgroups;     // paths
  std::string text;                  // as written in the file, to detect changes
};

struct PolicyQuota {
  PolicySubject callers;
  UserQuota quota;
  std::string text;
};

struct PolicyVerdict {
  bool allowed = true;
  std::string rule;  // the rule that decided; empty: none matched
};

struct Policy {
  bool allows_by_default = true;
  bool waives_yama = false;  // permits what only kernel.yama.ptrace_scope = 1 refuses; all else narrows
  std::vector<PolicyRule> rules;
  std::vector<PolicyQuota> quotas;
  std::optional<double> cpu_share;  // of the machine's cores, for all collectors together; nothing: no limit
  std::vector<IdentityRule> identities;
  std::string munge_socket;  // for rules with `munge`; empty: munged's usual socket

  // The first match; null: none.
  const IdentityRule* FindIdentity(std::string_view common_name, const std::vector<std::string>& uris) const;
  // An unknown fact matches a rule that denies, and no rule that allows.
  PolicyVerdict Judge(const PolicyCaller& caller, const TargetFacts& target) const;
  UserQuota QuotaOf(const PolicyCaller& caller) const;
  // Only the rules and the default, reduced to `caller`: the result judges every caller as that one.
  Policy About(const PolicyCaller& caller) const;
  // False: Judge allows every caller every target.
  bool denies_anything() const;
};

// "rules added: a, b; removed: c; default: deny"; "nothing".
std::string PolicyChanges(const Policy& before, const Policy& after);

}  // namespace ptrace_prof
