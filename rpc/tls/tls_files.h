// The files of one end of a TLS connection, all PEM: its trusted authorities, and its own certificate. Pure data.
#pragma once

#include <string>

namespace ptrace_prof {

struct TlsFiles {
  std::string authority;    // certificates of the authorities that must have signed the other end's certificate
  std::string certificate;  // our certificate, with its chain
  std::string key;          // our key
  std::string revoked;      // revocation lists of the authorities; empty: none
};

}  // namespace ptrace_prof
