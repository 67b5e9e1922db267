// Applies the policy to one caller: which processes it may profile, and how much at once.
//
// The caller's identity comes from the kernel, the target's facts from the launcher. A pidfd holds the target while it
// is judged, so the answer is about the process that has this pid when Judge returns. Owned by the services of the
// caller. Thread-safe. Owns only the caller's identity; the policy and the launcher outlive it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"
#include "daemon/server/captures/caller_allowance.h"
#include "daemon/server/captures/launcher_connection.h"
#include "daemon/server/policy/child_rules.h"
#include "daemon/server/program/policy_source.h"
#include "rpc/connection/peer_identity.h"

namespace ptrace_prof {

class PolicyGate : public CallerAllowance {
 public:
  PolicyGate(const PeerIdentity& caller, const PolicySource& source, std::shared_ptr<LauncherConnection> launcher);

  struct Judgement {
    std::optional<Error> refusal;           // POLICY_DENIED, or why there is nothing to judge
    std::string rule = {};                  // the rule that decided; empty: none
    UniqueFd target = {};                   // holds the judged process; closed if no rule was needed
    std::optional<TargetFacts> facts = {};  // of the judged process, if they were available
  };
  // 0: no particular process, which is always allowed. The launcher is asked for facts if the policy denies anything,
  // or if the caller `wants_facts` for a record.
  Judgement Judge(Pid target, bool wants_facts = false) const;
  // The rules for processes that the collector comes to follow; empty: all are allowed.
  std::string child_rules() const { return EncodeChildRules(*source_.current(), caller_); }
  Result<void> MayProfile(Pid target) const override;
  UserQuota quota() const override { return source_.current()->QuotaOf(caller_); }
  std::optional<double> cpu_budget() const override { return source_.cpu_budget(); }

 private:
  const PolicyCaller caller_;
  const PolicySource& source_;
  const std::shared_ptr<LauncherConnection> launcher_;
};

// The error for a process that has ended meanwhile.
Error WhyGone(Pid target);

}  // namespace ptrace_prof
