// Explains why a server over TLS does not answer. gRPC only says that a handshake failed.
//
// Connects once more with the same certificate, and reads the alert of the other end. Blocks for a few seconds at most.
// Stateless.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "rpc/tls/tls_files.h"

namespace ptrace_prof {

// `server`: "HOST:PORT". `name`: the name that the server's certificate must have. If no fault is found, the error has
// an empty message.
Error ExplainTls(const std::string& server, const std::string& name, const TlsFiles& files);

}  // namespace ptrace_prof
