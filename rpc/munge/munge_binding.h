// What a MUNGE credential is good for: one call of one method at one host. That is its payload, which munged seals for
// the client and the daemon compares with the call and with its own certificate. So whoever gets hold of a credential,
// a daemon that it was meant for included, can do nothing else with it. And the header in which it travels.
//
// Pure functions. What they read comes from the network.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ptrace_prof {

inline constexpr char kAuthorizationMetadata[] = "authorization";

struct MungeBinding {
  std::string method;  // "/ptraceprof.v1.CaptureService/Record"
  std::string host;    // as the server's certificate was compared with it: "node7.cluster", "10.0.0.7", "::1"

  bool operator==(const MungeBinding&) const = default;
};

std::string ToPayload(const MungeBinding& binding);
// Nothing: no payload of ours.
std::optional<MungeBinding> FromPayload(std::string_view payload);

// "munge MUNGE:...:".
std::string ToAuthorization(std::string_view credential);
// The credential in it; nothing: it holds none.
std::optional<std::string> CredentialIn(std::string_view authorization);

}  // namespace ptrace_prof
