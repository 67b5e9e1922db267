// Says in the log who started which collector, or why that failed, and in the audit how that ended; the starting itself
// is another's.
//
// Thread-safe. Does not own the other starter, which outlives it, nor the audit, which outlives all collectors.
#pragma once

#include "attach/base/types.h"
#include "daemon/program/audit_log.h"
#include "daemon/session/collector.h"
#include "rpc/peer_identity.h"

namespace ptrace_prof {

class LoggedStarter : public CollectorStarter {
 public:
  // `audit`: null where there is none.
  LoggedStarter(CollectorStarter& starter, PeerIdentity caller, AuditLog* audit)
      : starter_(starter), caller_(std::move(caller)), audit_(audit) {}

  Result<std::unique_ptr<Collector>> Start(const CaptureRequest& request) override;

 private:
  CollectorStarter& starter_;
  const PeerIdentity caller_;
  AuditLog* const audit_;
};

}  // namespace ptrace_prof
