// Whom a server believes: who shows a certificate of one of its authorities, unless that is on a list of revoked ones.
//
// The authorities are read once, the list as often as it is told to; a new one holds for handshakes that begin then,
// and for whoever is looked up. Where there is a list there must be one of every authority in a client's chain, and
// none out of date: whoever cannot be looked up is refused. Thread-safe.
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
  // PEM files. `revoked`: empty: there is no list. kInvalidArgument: a file that is none.
  static Result<std::shared_ptr<TlsTrust>> Load(const std::string& authority, const std::string& revoked);

  const std::string& revoked() const { return revoked_; }
  // Reads the list again; an error changes nothing.
  Result<void> ReadRevoked();
  // How many certificates are on it.
  size_t CountRevoked() const;
  // Has a session verify by what holds now.
  void Apply(ssl_st* session) const;
  // kUnauthenticated: it has been revoked since it was shown.
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
