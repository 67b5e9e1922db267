// Records what one caller asked for, in the log and in the audit: refusals, failed starts, and uses of other users'
// captures. Starts of collectors are recorded by the LoggedStarter, which takes its entries from here.
//
// Owned by the services of its caller, and outlived by the audit log and the limits. Thread-safe: it has no state of
// its own, and both have their locks. Knows neither the registry nor the policy.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "attach/base/user_report_limits.h"
#include "daemon/server/captures/request_audit.h"
#include "daemon/server/program/audit_log.h"
#include "rpc/connection/peer_identity.h"

namespace ptrace_prof {

class CallerAudit : public RequestAudit {
 public:
  // `log`: null if there is none. `reported`: limits how many of our refusals are recorded for each user.
  CallerAudit(PeerIdentity caller, AuditLog* log, UserReportLimits& reported)
      : caller_(std::move(caller)), log_(log), reported_(reported) {}

  AuditLog* log() const { return log_; }
  AuditEntry EntryFor(const CaptureTask& request) const;
  // A request for which no collector runs.
  void Report(AuditEntry entry, const Error& error);

  void Refused(const CaptureTask& request, const Error& error, const std::string& quota) override;
  void Kept(std::string_view what, const CaptureParameters& capture, const Error& error) override;
  void Touched(std::string_view what, const CaptureParameters& capture) override;

 private:
  void ReportSometimes(AuditEntry entry, const Error& error);

  const PeerIdentity caller_;
  AuditLog* const log_;
  UserReportLimits& reported_;
};

}  // namespace ptrace_prof
