// Identifies callers over TCP: by the policy's rule for the certificate, and by what a call claims or munged reports.
//
// The current policy and the list of revoked certificates decide, so removing a rule takes effect with the next call.
// But a user whom the policy did not name when the daemon started cannot be added, because the launcher does not know
// that user. For rules and quotas, a caller found here counts like one that the kernel identified. Thread-safe.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "attach/base/result.h"
#include "daemon/server/captures/launcher_connection.h"
#include "daemon/server/program/policy_source.h"
#include "rpc/connection/call_claims.h"
#include "rpc/connection/peer_identity.h"
#include "rpc/munge/munge_verifier.h"
#include "rpc/tls/peer_certificate.h"
#include "rpc/tls/tls_trust.h"

namespace ptrace_prof {

struct CallVerdict {
  PeerIdentity caller;   // as far as it is known
  Result<void> verdict;  // kUnauthenticated; kPermissionDenied: the certificate may not act for that user
};

class RemoteCallers {
 public:
  // The current policy determines for which users the daemon may ever vouch. kFailedPrecondition: for none, or for
  // users other than `owner` although that is not root. `server`: the TLS server. Logs a warning if munged is needed
  // and missing.
  static Result<RemoteCallers> Open(const PolicySource& policy, Uid owner, const TlsServer& server);

  const std::vector<Vouching>& vouched() const { return vouched_; }
  // Finds the rule for the certificate, and its user if there is only one. kUnauthenticated: no rule.
  Result<PeerIdentity> Identify(const PeerCertificate& certificate) const;
  // Identifies the caller of one call; a revoked certificate is refused. Waits for munged, for a bounded time, if the
  // rule requires it.
  CallVerdict CallerOf(const std::shared_ptr<const PeerCertificate>& certificate, const CallClaims& claims) const;

 private:
  RemoteCallers(const PolicySource& policy, std::vector<Vouching> vouched, const TlsServer& server);
  Result<PeerIdentity> IdentityOf(const LocalUser& user, const IdentityRule& rule) const;
  Result<const LocalUser*> UserOf(const IdentityRule& rule, const CallClaims& claims) const;
  Result<const LocalUser*> UserOf(const IdentityRule& rule, const CallClaims& claims, Uid munge_user) const;

  const PolicySource* policy_;
  std::shared_ptr<const TlsTrust> trust_;
  std::unique_ptr<MungeVerifier> munge_;
  std::vector<Vouching> vouched_;
  std::set<Uid> users_;
};

}  // namespace ptrace_prof
