// The profiler as callers get it: one for a local connection, whose caller the kernel named; for one over TCP, one for
// each user that its calls are made as.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "attach/base/user_report_limits.h"
#include "daemon/server/captures/launcher_starter.h"
#include "daemon/server/program/audit_log.h"
#include "daemon/server/program/logged_starter.h"
#include "daemon/server/program/policy_gate.h"
#include "daemon/server/program/remote_callers.h"
#include "daemon/server/service/profiler_service.h"
#include "daemon/server/service/routed_profiler.h"
#include "rpc/connection/connection_services.h"

namespace ptrace_prof {

// What all callers share; it outlives them.
struct SharedParts {
  CaptureRegistry& captures;
  std::shared_ptr<LauncherConnection> launcher;
  const PolicySource& policy;
  AuditLog* audit;
  const DaemonFacts& facts;
  UserReportLimits& refused_starts;
  ReportLimit& refused_calls;  // of connections that none of the identities fits
};

// The launcher forgets a peer of a connection when this goes; a user that it was told of at the start it never forgets.
class PeerServices : public ConnectionServices {
 public:
  PeerServices(const PeerIdentity& peer, const SharedParts& shared);
  std::vector<grpc::Service*> services() override { return profiler_.services(); }
  ProfilerService& profiler() { return profiler_; }

 private:
  LauncherStarter starter_;
  PolicyGate gate_;
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
  // By user, and by how it is known who that is: the audit tells.
  std::map<std::pair<uint32_t, bool>, std::unique_ptr<PeerServices>> users_;
  RoutedProfiler routed_;
};

}  // namespace ptrace_prof
