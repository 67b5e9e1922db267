// Binds a MUNGE credential to one call of one method at one host, so that a stolen credential is of no other use, not
// even to the daemon that it was made for. The binding is the payload that munged seals for the client. The daemon
// compares it with the call and with its own certificate. Also the header that carries the credential.
//
// Pure functions. Their input comes from the network.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ptrace_prof {

inline constexpr char kAuthorizationMetadata[] = "authorization";

struct MungeBinding {
  std::string method;  // "/ptraceprof.v1.CaptureService/Record"
  std::string host;    // the client found this name in the server's certificate: "node7.cluster", "10.0.0.7", "::1"

  bool operator==(const MungeBinding&) const = default;
};

std::string ToPayload(const MungeBinding& binding);
// Nothing: not one of our payloads.
std::optional<MungeBinding> FromPayload(std::string_view payload);

// "munge MUNGE:...:".
std::string ToAuthorization(std::string_view credential);
// The credential in the header; nothing: there is none.
std::optional<std::string> CredentialIn(std::string_view authorization);

}  // namespace ptrace_prof
