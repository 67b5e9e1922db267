// Who makes a call, by the MUNGE credential that came with it: the user whom munged vouches for, if the credential was
// made for this very call and for us.
//
// Thread-safe. Whether that user may do anything is decided elsewhere.
#pragma once

#include <optional>
#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "rpc/connection/call_claims.h"
#include "rpc/munge/munge_binding.h"
#include "rpc/munge/munge_worker.h"
#include "rpc/tls/tls_server.h"

namespace ptrace_prof {

struct MungeVerdict {
  std::optional<Uid> user;  // whom munged vouches for; known also where the credential is for something else
  Result<void> verdict;
};

class MungeVerifier {
 public:
  // `server`: whose certificate clients see.
  explicit MungeVerifier(TlsServer server, MungedCalls munged = {})
      : server_(std::move(server)), worker_(std::move(munged)) {}

  // Waits for munged, for a bounded time. kUnauthenticated: there is no good credential for this call; kUnavailable:
  // munged does not answer at `socket`.
  MungeVerdict Verify(const CallClaims& claims, const std::string& socket);

 private:
  Result<void> Compare(const MungeWord& word, const CallClaims& claims) const;

  const TlsServer server_;
  MungeWorker worker_;
};

}  // namespace ptrace_prof
