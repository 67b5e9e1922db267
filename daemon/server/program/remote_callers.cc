#include "daemon/server/program/remote_callers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "attach/base/clean_text.h"
#include "attach/base/reason.h"
#include "daemon/server/program/daemon_log.h"
#include "rpc/munge/munge_credential.h"

namespace ptrace_prof {
namespace {

constexpr size_t kLongestName = 64;
constexpr uint32_t kNotSaidYet = 0xffffffff;  // not a valid user ID

Error NoRule(const PeerCertificate& certificate, const std::string& file) {
  return Because(
      Reason::kUnauthenticated,
      fmt::format("no [[identity]] of this daemon's policy matches the certificate of {}", Describe(certificate)),
      fmt::format("ask the administrator of that machine to add one to {}, or use another certificate", file),
      "certificate " + Describe(certificate));
}

// If two rules name the same user, it is enough that one expressly allows root.
std::vector<Vouching> UsersOf(const Policy& policy) {
  std::map<Uid, Vouching> users;
  for (const IdentityRule& rule : policy.identities) {
    for (const LocalUser& user : rule.users) {
      Vouching& one = users[user.uid];
      one.who = {user.uid, user.gid, user.groups};
      one.is_express = one.is_express || rule.allows_root;
    }
  }
  std::vector<Vouching> list;
  for (auto& [uid, user] : users) {
    list.push_back(std::move(user));
  }
  return list;
}

std::string SocketOf(const Policy& policy) {
  return policy.munge_socket.empty() ? kUsualMungeSocket : policy.munge_socket;
}

// Only warns: munged may be started later.
void WarnOfSilentMunged(const Policy& policy) {
  const bool is_wanted = std::ranges::any_of(policy.identities, &IdentityRule::asks_munge);
  if (const auto there = is_wanted ? KnockAtMunged(SocketOf(policy)) : Result<void>(); there.has_error()) {
    Log(LogLevel::kWarning, "munged_silent", there.error());
  }
}

std::string NameOf(const LocalUser& user) { return user.name.empty() ? std::to_string(user.uid.value) : user.name; }

}  // namespace

Result<RemoteCallers> RemoteCallers::Open(const PolicySource& policy, Uid owner, const TlsServer& server) {
  std::vector<Vouching> users = UsersOf(*policy.current());
  if (users.empty()) {
    return Error{Code::kFailedPrecondition,
                 fmt::format("--listen-tcp admits no client: {} has no [[identity]]",
                             policy.file().empty() ? "the default policy" : policy.file()),
                 "map certificates to users in the policy (ptrace-prof-policy(5)), or leave --listen-tcp out"};
  }
  for (const Vouching& user : users) {
    if (owner.value != 0 && user.who.uid != owner) {
      return Error{
          Code::kPermissionDenied,
          fmt::format(
              "{} has an identity of user {}, but this daemon was started by user {}, who cannot become another",
              policy.file(), user.who.uid.value, owner.value),
          "leave that user out, or start the daemon as root"};
    }
  }
  WarnOfSilentMunged(*policy.current());
  return RemoteCallers(policy, std::move(users), server);
}

RemoteCallers::RemoteCallers(const PolicySource& policy, std::vector<Vouching> vouched, const TlsServer& server)
    : policy_(&policy),
      trust_(server.trust()),
      munge_(std::make_unique<MungeVerifier>(server)),
      vouched_(std::move(vouched)) {
  for (const Vouching& user : vouched_) {
    users_.insert(user.who.uid);
  }
}

Result<PeerIdentity> RemoteCallers::IdentityOf(const LocalUser& user, const IdentityRule& rule) const {
  if (!users_.contains(user.uid)) {
    return Because(
        Reason::kUnauthenticated,
        fmt::format("the identity '{}' was given user {} after ptrace-profd had started", rule.name, NameOf(user)),
        "ask the administrator to restart ptrace-profd: its launcher knows only the users of its start");
  }
  PeerIdentity identity{.uid = user.uid.value, .gid = user.gid.value, .groups = {}, .pid = {}};
  identity.number = VouchedPeer(user.uid);
  identity.is_administrator = user.uid == Uid(0);  // the policy names root only with `root = true`
  for (const Gid group : user.groups) {
    identity.groups.push_back(group.value);
  }
  return identity;
}

Result<PeerIdentity> RemoteCallers::Identify(const PeerCertificate& certificate) const {
  const auto policy = policy_->current();
  const IdentityRule* rule = policy->FindIdentity(certificate.common_name, certificate.uris);
  if (rule == nullptr) {
    return NoRule(certificate, policy_->file());
  }
  if (rule->impersonates) {
    return PeerIdentity{.uid = kNotSaidYet, .gid = kNotSaidYet, .groups = {}, .pid = {}};
  }
  return IdentityOf(rule->users.front(), *rule);
}

Result<const LocalUser*> RemoteCallers::UserOf(const IdentityRule& rule, const CallClaims& claims) const {
  if (claims.user.empty() && rule.impersonates) {
    return Because(Reason::kUnauthenticated,
                   fmt::format("the identity '{}' may act as several users, and this call names none", rule.name),
                   fmt::format("name one: --as USER; in metadata, {}", kUserMetadata));
  }
  const LocalUser* user = claims.user.empty() ? &rule.users.front() : rule.FindUser(claims.user);
  if (user == nullptr) {
    return Because(Reason::kPermissionDenied,
                   fmt::format("the identity '{}' may not act as user '{}'", rule.name,
                               Shortened(CleanText(claims.user), kLongestName)),
                   fmt::format("name another user, or ask the administrator of that machine to add this one to {}",
                               policy_->file()));
  }
  return user;
}

Result<const LocalUser*> RemoteCallers::UserOf(const IdentityRule& rule, const CallClaims& claims,
                                               Uid munge_user) const {
  const LocalUser* user = rule.FindUser(munge_user);
  if (user == nullptr) {
    return Because(
        Reason::kPermissionDenied,
        fmt::format("according to MUNGE, this call is by user {}, and the identity '{}' may not act as that user",
                    munge_user.value, rule.name),
        fmt::format("ask the administrator of that machine to add this user to {}", policy_->file()));
  }
  if (const LocalUser* named = claims.user.empty() ? user : rule.FindUser(claims.user);
      named == nullptr || named->uid != user->uid) {
    return Because(Reason::kPermissionDenied,
                   fmt::format("according to MUNGE, this call is by user {}, but it names user '{}'", NameOf(*user),
                               Shortened(CleanText(claims.user), kLongestName)),
                   "leave --as out: MUNGE identifies the user");
  }
  return user;
}

CallVerdict RemoteCallers::CallerOf(const std::shared_ptr<const PeerCertificate>& certificate,
                                    const CallClaims& claims) const {
  PeerIdentity caller{.uid = kNotSaidYet, .gid = kNotSaidYet, .groups = {}, .pid = {}, .certificate = certificate};
  if (auto good = trust_->Check(*certificate); good.has_error()) {
    return {std::move(caller), std::move(good).error()};
  }
  const auto policy = policy_->current();
  const IdentityRule* rule = policy->FindIdentity(certificate->common_name, certificate->uris);
  if (rule == nullptr) {
    return {std::move(caller), NoRule(*certificate, policy_->file())};
  }
  const MungeVerdict munge = rule->asks_munge ? munge_->Verify(claims, SocketOf(*policy)) : MungeVerdict{};
  if (munge.user.has_value()) {
    caller.munge_uid = munge.user->value;
  }
  if (munge.verdict.has_error()) {
    return {std::move(caller), munge.verdict};
  }
  const auto user =
      rule->asks_munge ? UserOf(*rule, claims, munge.user.value_or(Uid(kNotSaidYet))) : UserOf(*rule, claims);
  if (user.has_error()) {
    return {std::move(caller), user.error()};
  }
  auto identity = IdentityOf(*user.value(), *rule);
  if (identity.has_error()) {
    return {std::move(caller), std::move(identity).error()};
  }
  identity.value().certificate = certificate;
  identity.value().munge_uid = caller.munge_uid;
  return {std::move(identity).value(), {}};
}

}  // namespace ptrace_prof
