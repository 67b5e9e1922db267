// Which certificates a server trusts: those of its authorities, unless a revocation list has them.
//
// The authorities are read once, the lists whenever ReadRevoked is called. New lists apply to handshakes that begin
// later, and to Check. With lists, every authority in a client's chain must have one, and none may be out of date: a
// certificate whose status is unknown is refused. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attach/base/result.h"

struct ssl_st;
struct x509_st;
struct x509_store_st;
struct X509_crl_st;

namespace ptrace_prof {

struct PeerCertificate;

class TlsTrust {
 public:
  // PEM files. `revoked` empty: no revocation lists. kInvalidArgument: a file without the expected content.
  static Result<std::shared_ptr<TlsTrust>> Load(const std::string& authority, const std::string& revoked);

  const std::string& revoked() const { return revoked_; }
  // Reads the lists again; an error changes nothing.
  Result<void> ReadRevoked();
  // The number of revoked certificates.
  size_t CountRevoked() const;
  // Makes a session verify with the current authorities and lists.
  void Apply(ssl_st* session) const;
  // kUnauthenticated: the certificate has been revoked.
  Result<void> Check(const PeerCertificate& certificate) const;

 private:
  using Authorities = std::vector<std::shared_ptr<x509_st>>;
  using Lists = std::vector<std::shared_ptr<X509_crl_st>>;

  TlsTrust(Authorities authorities, std::string revoked)
      : authorities_(std::move(authorities)), revoked_(std::move(revoked)) {}
  Result<void> Hold(Lists lists);

  const Authorities authorities_;
  const std::string revoked_;
  mutable std::mutex mutex_;
  std::shared_ptr<x509_store_st> store_;
  Lists lists_;
};

}  // namespace ptrace_prof
