#include "rpc/munge/munge_verifier.h"

#include <fmt/format.h>

namespace ptrace_prof {
namespace {

constexpr char kMakeOne[] =
    "send a new credential with each call: --munge, in Python Tls(munge=True); in metadata, authorization: munge "
    "CREDENTIAL";

Error Refusal(std::string message, std::string remedy) {
  return Because(Reason::kUnauthenticated, std::move(message), std::move(remedy));
}

}  // namespace

MungeVerdict MungeVerifier::Verify(const CallClaims& claims, const std::string& socket) {
  const auto credential = CredentialIn(claims.authorization);
  if (!credential.has_value()) {
    return {std::nullopt,
            Refusal(claims.authorization.empty() ? "the call has no MUNGE credential"
                                                 : "the authorization of the call is not a MUNGE credential",
                    kMakeOne)};
  }
  const auto word = worker_.Read(*credential, socket);
  if (word.has_error()) {
    return {std::nullopt, word.error()};
  }
  return {word.value().uid, Compare(word.value(), claims)};
}

// The payload was written by the user that munged names; it is text without blanks.
Result<void> MungeVerifier::Compare(const MungeWord& word, const CallClaims& claims) const {
  const std::string whose = fmt::format("the MUNGE credential of user {}", word.uid.value);
  const auto binding = FromPayload(word.payload);
  if (!binding.has_value()) {
    return Refusal(whose + " was not made for ptrace-profd", kMakeOne);
  }
  if (binding->method != claims.method) {
    return Refusal(fmt::format("{} is for another call: {}", whose, binding->method), kMakeOne);
  }
  switch (server_.Matches(binding->host)) {
    case HostMatch::kNamed: return {};
    case HostMatch::kByWildcard:
      return Refusal(fmt::format("{} is for {}, which the server's certificate matches only by a wildcard: other "
                                 "machines may match it too",
                                 whose, binding->host),
                     "ask the administrator of that machine to give ptrace-profd a certificate with its own name");
    case HostMatch::kNot: break;
  }
  return Refusal(
      fmt::format("{} is for the host {}, which the server's certificate does not name", whose, binding->host),
      "connect to this machine by a name that its certificate contains");
}

}  // namespace ptrace_prof
