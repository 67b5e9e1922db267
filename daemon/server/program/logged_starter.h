// Starts collectors for one caller, within the policy, and records this: the log says which collector was started or
// why it was not, the audit says how it ended. Another starter does the starting.
//
// Thread-safe. Does not own that starter and the gate, which outlive it, nor the audit, which outlives all collectors.
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
  // `audit`: null if there is none. `told`: limits how many of our refusals are recorded for each user.
  LoggedStarter(CollectorStarter& starter, const PolicyGate& gate, PeerIdentity caller, AuditLog* audit,
                UserReportLimits& reported)
      : starter_(starter), gate_(gate), caller_(std::move(caller)), audit_(audit), reported_(reported) {}

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
  void Report(AuditEntry entry, const Error& error);
  void ReportSometimes(AuditEntry entry, const Error& error);

  CollectorStarter& starter_;
  const PolicyGate& gate_;
  const PeerIdentity caller_;
  AuditLog* const audit_;
  UserReportLimits& reported_;
};

}  // namespace ptrace_prof
