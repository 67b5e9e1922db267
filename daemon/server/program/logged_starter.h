// Starts collectors for one caller as far as the policy lets it, and says so: in the log who started which one, or why
// that failed, and in the audit how it ended; the starting itself is another's.
//
// Thread-safe. Does not own the other starter and the gate, which outlive it, nor the audit, which outlives all
// collectors.
#pragma once

#include "attach/base/types.h"
#include "attach/base/user_report_limits.h"
#include "daemon/server/captures/collector.h"
#include "daemon/server/program/audit_log.h"
#include "daemon/server/program/policy_gate.h"
#include "rpc/connection/peer_identity.h"

namespace ptrace_prof {

class LoggedStarter : public CollectorStarter {
 public:
  // `audit`: null where there is none. `told`: of what each user is refused by us, how much is told.
  LoggedStarter(CollectorStarter& starter, const PolicyGate& gate, PeerIdentity caller, AuditLog* audit,
                UserReportLimits& told)
      : starter_(starter), gate_(gate), caller_(std::move(caller)), audit_(audit), told_(told) {}

  Result<std::unique_ptr<Collector>> Start(const CaptureTask& request) override;
  Result<void> MayProfile(Pid target) override;
  UserQuota quota() override { return gate_.quota(); }
  std::optional<double> cpu_budget() override { return gate_.cpu_budget(); }
  void Refused(const CaptureTask& request, const Error& error, const std::string& quota) override;
  void Kept(std::string_view what, const CaptureParameters& capture, const Error& error) override;
  void Touched(std::string_view what, const CaptureParameters& capture) override;

 private:
  Result<std::unique_ptr<Collector>> StartJudged(CaptureTask request, PolicyGate::Judgement judgement);
  AuditEntry EntryFor(const CaptureTask& request) const;
  void Tell(AuditEntry entry, const Error& error);
  void TellSometimes(AuditEntry entry, const Error& error);

  CollectorStarter& starter_;
  const PolicyGate& gate_;
  const PeerIdentity caller_;
  AuditLog* const audit_;
  UserReportLimits& told_;
};

}  // namespace ptrace_prof
