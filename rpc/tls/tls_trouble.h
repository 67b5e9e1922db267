// Why a server over TLS does not answer, in words for who uses the client: gRPC only says that a handshake failed.
//
// Connects once more by itself, shows the same certificate, and listens to what the other end objects to. Blocks for
// some seconds at the most. Stateless.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "rpc/tls/tls_files.h"

namespace ptrace_prof {

// `server`: "HOST:PORT". `name`: what the server's certificate must be for. Nothing is wrong that could be found: an
// error with an empty message.
Error ExplainTls(const std::string& server, const std::string& name, const TlsFiles& files);

}  // namespace ptrace_prof
