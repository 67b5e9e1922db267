// Identifies the caller by the MUNGE credential of the call: the user that munged vouches for, if the credential was
// made for exactly this call and this server.
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
  std::optional<Uid> user;  // the user that munged vouches for; also set if the credential is for another call
  Result<void> verdict;
};

class MungeVerifier {
 public:
  // `server` has the certificate that clients see.
  explicit MungeVerifier(TlsServer server, MungedCalls munged = {})
      : server_(std::move(server)), worker_(std::move(munged)) {}

  // Waits for munged, for a bounded time. kUnauthenticated: no valid credential for this call; kUnavailable: munged
  // does not answer at `socket`.
  MungeVerdict Verify(const CallClaims& claims, const std::string& socket);

 private:
  Result<void> Compare(const MungeWord& word, const CallClaims& claims) const;

  const TlsServer server_;
  MungeWorker worker_;
};

}  // namespace ptrace_prof
