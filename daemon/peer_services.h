// The profiler's services for a peer. A local connection has one caller, whom the kernel identifies. A connection over
// TCP has one set of services per user that its calls are made as.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "attach/base/user_report_limits.h"
#include "daemon/server/captures/launcher_starter.h"
#include "daemon/server/program/audit_log.h"
#include "daemon/server/program/caller_audit.h"
#include "daemon/server/program/logged_starter.h"
#include "daemon/server/program/policy_gate.h"
#include "daemon/server/program/remote_callers.h"
#include "daemon/server/service/profiler_service.h"
#include "daemon/server/service/routed_profiler.h"
#include "rpc/connection/connection_services.h"

namespace ptrace_prof {

// Shared by all callers; outlives them.
struct SharedParts {
  CaptureRegistry& captures;
  CallResources& resources;
  std::shared_ptr<LauncherConnection> launcher;
  const PolicySource& policy;
  AuditLog* audit;
  const DaemonFacts& facts;
  UserReportLimits& refused_starts;
  ReportLimit& refused_calls;  // for connections that match no identity
};

// The launcher forgets the connection's peer when this object ends. It never forgets the users that it got at the
// start.
class PeerServices : public ConnectionServices {
 public:
  PeerServices(const PeerIdentity& peer, const SharedParts& shared);
  std::vector<grpc::Service*> services() override { return profiler_.services(); }
  ProfilerService& profiler() { return profiler_; }

 private:
  LauncherStarter starter_;
  PolicyGate gate_;
  CallerAudit audit_;
  LoggedStarter logged_;
  ProfilerService profiler_;
};

class RemoteServices : public ConnectionServices {
 public:
  RemoteServices(const PeerIdentity& peer, const SharedParts& shared, const RemoteCallers& callers);
  std::vector<grpc::Service*> services() override { return routed_.services(); }
  bool is_remote() const override { return true; }

 private:
  Result<ProfilerService*> Route(const CallClaims& claims);

  const std::shared_ptr<const PeerCertificate> certificate_;
  const SharedParts shared_;
  const RemoteCallers& callers_;
  std::mutex mutex_;
  // By user, and by how the user was identified, which the audit log shows.
  std::map<std::pair<uint32_t, bool>, std::unique_ptr<PeerServices>> users_;
  RoutedProfiler routed_;
};

}  // namespace ptrace_prof
