// What the policy says of one caller: whom that caller may have profiled, and how much at once.
//
// Who the caller is comes from the kernel, what a process is from the launcher, and while it is judged a pidfd holds
// it: the answer is about the process that has this number when Judge returns. Thread-safe. Owns nothing but the
// caller's identity; the policy and the launcher outlive it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"
#include "daemon/server/captures/launcher_connection.h"
#include "daemon/server/policy/child_rules.h"
#include "daemon/server/program/policy_source.h"
#include "rpc/connection/peer_identity.h"

namespace ptrace_prof {

class PolicyGate {
 public:
  PolicyGate(const PeerIdentity& caller, const PolicySource& source, std::shared_ptr<LauncherConnection> launcher);

  struct Judgement {
    std::optional<Error> refusal;           // POLICY_DENIED, or why there is nothing to judge
    std::string rule = {};                  // that decided; empty: none
    UniqueFd target = {};                   // holds whom this is about; closed where no rule had to be asked
    std::optional<TargetFacts> facts = {};  // of whom this is about, where they could be had
  };
  // 0: no process in particular, of which a policy says nothing. The launcher is asked about it where the policy denies
  // anything, or `wants_facts`, for a record.
  Judgement Judge(Pid target, bool wants_facts = false) const;
  // For whom the collector comes to follow; empty: it may be anybody.
  std::string child_rules() const { return EncodeChildRules(*source_.current(), caller_); }
  UserQuota quota() const { return source_.current()->QuotaOf(caller_); }
  std::optional<double> cpu_budget() const { return source_.cpu_budget(); }

 private:
  const PolicyCaller caller_;
  const PolicySource& source_;
  const std::shared_ptr<LauncherConnection> launcher_;
};

// Why a process that was there is not any more.
Error WhyGone(Pid target);

}  // namespace ptrace_prof
