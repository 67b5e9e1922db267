// The server's end of mutual TLS, as its files say: TLS 1.3, a client certificate is required and must be signed by our
// authority, HTTP/2 is the only thing spoken inside. No session is resumed, so every connection is verified.
//
// The files are read once, while there is the right to, but for the list of revoked certificates (tls_trust.h); a copy
// shares what was read. Any thread.
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
  kByWildcard,  // which others may have, too
  kNot,
};

class TlsServer {
 public:
  // kInvalidArgument: a file that is none, or a key that is not of the certificate; kPermissionDenied: a key that
  // everybody may read.
  static Result<TlsServer> Load(const TlsFiles& files);
  // For one connection; null: there is no memory.
  ssl_st* NewSession() const;
  const std::shared_ptr<TlsTrust>& trust() const { return trust_; }
  // Whether our certificate is for that host, a name or an address, as a client would find.
  HostMatch Matches(const std::string& host) const;

 private:
  TlsServer(std::shared_ptr<ssl_ctx_st> context, std::shared_ptr<TlsTrust> trust)
      : context_(std::move(context)), trust_(std::move(trust)) {}

  std::shared_ptr<ssl_ctx_st> context_;
  std::shared_ptr<TlsTrust> trust_;
};

// What OpenSSL says went wrong last on this thread; `fallback` where it says nothing. Clears it.
std::string TakeTlsTrouble(const std::string& fallback);

}  // namespace ptrace_prof
