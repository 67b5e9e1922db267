// What a verified client certificate says about its owner, for rules and for the audit.
//
// Only names that can mean one thing: an entry with a zero byte in it is left out, and so is a common name of which
// there are two. Stateless.
#pragma once

#include <memory>
#include <string>
#include <vector>

struct x509_st;

namespace ptrace_prof {

struct PeerCertificate {
  std::string subject;             // the whole name, for people
  std::string common_name;         // empty: none
  std::vector<std::string> uris;   // of the subject alternative name
  std::string address;             // where it was shown from: "10.0.0.3:41234"
  std::shared_ptr<x509_st> shown;  // itself; null: made up
};

PeerCertificate ReadPeerCertificate(x509_st* certificate);
// "CN=alice (spiffe://…)", printable.
std::string Describe(const PeerCertificate& certificate);

}  // namespace ptrace_prof
