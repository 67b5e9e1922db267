// Makes certificates while the program runs, for tests and benchmarks: of an authority, of a server at 127.0.0.1 and of
// a client, as files in a folder of the caller's, who removes them. A failure ends the program.
#pragma once

#include <string>

#include "rpc/tls/tls_files.h"

namespace ptrace_prof {

struct MadeCertificates {
  TlsFiles server;
  TlsFiles client;
};

MadeCertificates MakeCertificates(const std::string& folder);

}  // namespace ptrace_prof
