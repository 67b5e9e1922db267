// The files of one end of a TLS connection, all PEM: whom it believes, and what it shows of itself. Pure data.
#pragma once

#include <string>

namespace ptrace_prof {

struct TlsFiles {
  std::string authority;    // certificates of the authorities that the other end must be signed by
  std::string certificate;  // ours, with the chain behind it
  std::string key;          // ours
  std::string revoked;      // lists of certificates that the authorities have revoked; empty: none
};

}  // namespace ptrace_prof
