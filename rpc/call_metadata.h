// The metadata that a client sends with each call: the user to be served as, and a MUNGE credential for this call.
//
// gRPC requests the metadata whenever a call begins or is sent again, on a thread that may wait for munged.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace grpc {
class CallCredentials;
}

namespace ptrace_prof {

struct CallMetadata {
  std::string user;                  // empty: not sent
  std::optional<std::string> munge;  // the socket of munged; nothing: no credentials
  std::string host;                  // for credentials: the name that the server's certificate is checked against

  bool is_empty() const { return user.empty() && !munge.has_value(); }
};

std::shared_ptr<grpc::CallCredentials> CallCredentialsFor(CallMetadata metadata);

}  // namespace ptrace_prof
