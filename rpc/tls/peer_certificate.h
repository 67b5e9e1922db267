// What a verified client certificate says about its owner, for rules and for the audit.
//
// Only names that can mean one thing: an entry with a zero byte in it is left out, and so is a common name of which
// there are two. Stateless.
#pragma once

#include <memory>
#include <string>
#include <vector>

struct x509_st;
struct stack_st_X509;

namespace ptrace_prof {

struct PeerCertificate {
  std::string subject;                                // the whole name, for people
  std::string common_name;                            // empty: none
  std::vector<std::string> uris;                      // of the subject alternative name
  std::string address;                                // where it was shown from: "10.0.0.3:41234"
  std::shared_ptr<x509_st> shown;                     // itself; null: made up
  std::vector<std::shared_ptr<x509_st>> authorities;  // by which it was verified
};

PeerCertificate ReadPeerCertificate(x509_st* certificate);
// Of a chain that begins with the certificate itself (may be null).
std::vector<std::shared_ptr<x509_st>> AuthoritiesOf(const stack_st_X509* chain);
// "CN=alice (spiffe://…)", printable.
std::string Describe(const PeerCertificate& certificate);

}  // namespace ptrace_prof
