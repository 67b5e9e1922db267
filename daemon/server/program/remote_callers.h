// Who somebody is that came over TCP: what the policy says of the certificate, and of what a call claims or munged says
// of it.
//
// The policy that holds at that moment decides, and the list of revoked certificates, so a rule that was taken away
// ends what rests on it with the next call. But nobody becomes a user whom the policy did not name when the daemon
// started: the launcher knows no others. A caller found here is as good as one that the kernel named, for the rules
// about processes and for quotas. Thread-safe.
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
  Result<void> verdict;  // kUnauthenticated; kPermissionDenied: the certificate may not speak for that user
};

class RemoteCallers {
 public:
  // What the policy says now is whom the daemon may ever vouch for. kFailedPrecondition: nobody, or others than `owner`
  // where that is not root. `server`: whom clients connect to. Says in the log where munged is wanted and not there.
  static Result<RemoteCallers> Open(const PolicySource& policy, Uid owner, const TlsServer& server);

  const std::vector<Vouching>& vouched() const { return vouched_; }
  // Whether there is a rule for the certificate; of one for a single user, who that is. kUnauthenticated: none.
  Result<PeerIdentity> Identify(const PeerCertificate& certificate) const;
  // Who makes a call; nobody whose certificate has been revoked. Waits for munged where the rule wants that, for a
  // bounded time.
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
