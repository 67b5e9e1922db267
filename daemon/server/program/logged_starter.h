// Starts collectors for one caller, within the policy, and records this: the log says which collector was started or
// why it was not, the audit says how it ended. Another starter does the starting.
//
// Thread-safe. Owned by the services of the caller. Does not own that starter, the gate and the caller's audit, which
// outlive it, nor the audit log, which outlives all collectors.
#pragma once

#include "daemon/server/captures/collector.h"
#include "daemon/server/program/caller_audit.h"
#include "daemon/server/program/policy_gate.h"

namespace ptrace_prof {

class LoggedStarter : public CollectorStarter {
 public:
  LoggedStarter(CollectorStarter& starter, const PolicyGate& gate, CallerAudit& audit)
      : starter_(starter), gate_(gate), audit_(audit) {}

  Result<std::unique_ptr<Collector>> Start(const CaptureTask& request) override;

 private:
  Result<std::unique_ptr<Collector>> StartJudged(CaptureTask request, PolicyGate::Judgement judgement);

  CollectorStarter& starter_;
  const PolicyGate& gate_;
  CallerAudit& audit_;
};

}  // namespace ptrace_prof
