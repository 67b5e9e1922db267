// The identity of a Unix socket's peer, from the kernel, so the peer cannot forge it. Stateless.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "rpc/connection/peer_identity.h"

namespace ptrace_prof {

// kUnauthenticated: the peer has no number in our user or PID namespace, so the kernel cannot identify it.
Result<PeerIdentity> ReadPeerIdentity(int connection);
// The name (comm) of the process that connected. Empty if the kernel cannot give it reliably (before Linux 6.5), or if
// the process has ended.
std::string ReadPeerCommand(int connection, Pid process);

}  // namespace ptrace_prof
