// What a client says with each call beside its message: as whom it is made, and a MUNGE credential of its own.
//
// gRPC asks for it whenever a call begins or is sent again, on a thread where munged may be waited for.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace grpc {
class CallCredentials;
}

namespace ptrace_prof {

struct CallMetadata {
  std::string user;                  // empty: not said
  std::optional<std::string> munge;  // the socket of munged; nothing: no credentials
  std::string host;                  // that they are for, as the server's certificate is compared with it

  bool is_empty() const { return user.empty() && !munge.has_value(); }
};

std::shared_ptr<grpc::CallCredentials> CallCredentialsFor(CallMetadata metadata);

}  // namespace ptrace_prof
