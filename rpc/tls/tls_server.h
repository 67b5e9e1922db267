// The server's end of mutual TLS. It requires TLS 1.3, a client certificate signed by our authority, and HTTP/2.
// Sessions are not resumed, so every connection is verified.
//
// The files are read once, while the process still has the right to, except the revocation lists (tls_trust.h). A copy
// shares the data. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "attach/base/result.h"
#include "rpc/tls/tls_files.h"
#include "rpc/tls/tls_trust.h"

struct ssl_ctx_st;

namespace ptrace_prof {

enum class HostMatch : uint8_t {
  kNamed,
  kByWildcard,  // by a wildcard, which other hosts may match too
  kNot,
};

class TlsServer {
 public:
  // kInvalidArgument: a file without the expected PEM content, or a key that does not belong to the certificate;
  // kPermissionDenied: a key that every user may read.
  static Result<TlsServer> Load(const TlsFiles& files);
  // A session for one connection; null: no memory.
  ssl_st* NewSession() const;
  const std::shared_ptr<TlsTrust>& trust() const { return trust_; }
  // Whether our certificate is valid for that host (a name or an address), by a client's rules.
  HostMatch Matches(const std::string& host) const;

 private:
  TlsServer(std::shared_ptr<ssl_ctx_st> context, std::shared_ptr<TlsTrust> trust)
      : context_(std::move(context)), trust_(std::move(trust)) {}

  std::shared_ptr<ssl_ctx_st> context_;
  std::shared_ptr<TlsTrust> trust_;
};

// OpenSSL's last error on this thread; `fallback` if there is none. Clears it.
std::string TakeTlsTrouble(const std::string& fallback);

}  // namespace ptrace_prof
