#include "daemon/peer_services.h"

namespace ptrace_prof {

PeerServices::PeerServices(const PeerIdentity& peer, const SharedParts& shared)
    : starter_(shared.launcher, PeerNumber(peer.number)),
      gate_(peer, shared.policy, shared.launcher),
      audit_(peer, shared.audit, shared.refused_starts),
      logged_(starter_, gate_, audit_),
      profiler_(peer, shared.captures, shared.resources, {logged_, gate_, audit_}, &shared.facts) {}

RemoteServices::RemoteServices(const PeerIdentity& peer, const SharedParts& shared, const RemoteCallers& callers)
    : certificate_(peer.certificate),
      shared_(shared),
      callers_(callers),
      routed_([this](const CallClaims& claims) { return Route(claims); }) {}

Result<ProfilerService*> RemoteServices::Route(const CallClaims& claims) {
  const CallVerdict call = callers_.CallerOf(certificate_, claims);
  if (call.verdict.has_error()) {
    const Error& why = call.verdict.error();
    if (const auto unreported = shared_.refused_calls.Report(MonotonicNow()); unreported.has_value()) {
      shared_.audit->Write({.caller = call.caller,
                            .what = "connect",
                            .target = {},
                            .outcome = OutcomeOf(why),
                            .error = WithUnreported(why, *unreported),
                            .times = 1 + *unreported});
    }
    return why;
  }
  const std::lock_guard lock(mutex_);
  auto& services = users_[{call.caller.uid, call.caller.munge_uid.has_value()}];
  if (services == nullptr) {
    services = std::make_unique<PeerServices>(call.caller, shared_);
  }
  return &services->profiler();
}

}  // namespace ptrace_prof
