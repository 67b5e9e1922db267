#include "rpc/munge/munge_verifier.h"

#include <fmt/format.h>

namespace ptrace_prof {
namespace {

constexpr char kMakeOne[] =
    "have one made for each call: --munge, in Python Tls(munge=True); in metadata, authorization: munge CREDENTIAL";

Error Refusal(std::string message, std::string remedy) {
  return Because(Reason::kUnauthenticated, std::move(message), std::move(remedy));
}

}  // namespace

MungeVerdict MungeVerifier::Verify(const CallClaims& claims, const std::string& socket) {
  const auto credential = CredentialIn(claims.authorization);
  if (!credential.has_value()) {
    return {std::nullopt, Refusal(claims.authorization.empty() ? "this call shows no MUNGE credential"
                                                               : "what this call shows is no MUNGE credential",
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
    return Refusal(whose + " was made for something else than ptrace-profd", kMakeOne);
  }
  if (binding->method != claims.method) {
    return Refusal(fmt::format("{} is for another call: {}", whose, binding->method), kMakeOne);
  }
  switch (server_.Matches(binding->host)) {
    case HostMatch::kNamed: return {};
    case HostMatch::kByWildcard:
      return Refusal(
          fmt::format("{} is for {}, which our certificate names by a wildcard only: other machines may have "
                      "that too",
                      whose, binding->host),
          "have the administrator of that machine give ptrace-profd a certificate with its own name");
    case HostMatch::kNot: break;
  }
  return Refusal(fmt::format("{} is for the host {}, and our certificate is not", whose, binding->host),
                 "it was meant for another machine; ask this one by a name that its certificate has");
}

}  // namespace ptrace_prof
