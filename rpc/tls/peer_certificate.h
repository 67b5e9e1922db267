// The contents of a verified client certificate, for rules and for the audit log.
//
// Holds unambiguous names only: an entry that contains a zero byte is left out, and so is the common name if there are
// two. Stateless.
// there are two. Stateless.
#pragma once

#include <memory>
#include <string>
#include <vector>

struct x509_st;
struct stack_st_X509;

namespace ptrace_prof {

struct PeerCertificate {
  std::string subject;                                // the full subject, for people
  std::string common_name;                            // empty: none
  std::vector<std::string> uris;                      // from the subject alternative name
  std::string address;                                // the peer's address: "10.0.0.3:41234"
  std::shared_ptr<x509_st> shown;                     // the certificate itself; null: made up
  std::vector<std::shared_ptr<x509_st>> authorities;  // the authorities that verified it
};

PeerCertificate ReadPeerCertificate(x509_st* certificate);
// The authorities of a chain that begins with the certificate itself (may be null).
std::vector<std::shared_ptr<x509_st>> AuthoritiesOf(const stack_st_X509* chain);
// "CN=alice (spiffe://…)", in printable characters.
std::string Describe(const PeerCertificate& certificate);

}  // namespace ptrace_prof
