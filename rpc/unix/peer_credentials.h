// Who connected to a Unix socket, asked of the kernel, which cannot be lied to. Stateless.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "rpc/connection/peer_identity.h"

namespace ptrace_prof {

// kUnauthenticated: the kernel cannot say who it is (another user or PID namespace, without a place in ours).
Result<PeerIdentity> ReadPeerIdentity(int connection);
// What the process that connected calls itself; empty where the kernel does not say for sure (before Linux 6.5), or the
// process has ended.
std::string ReadPeerCommand(int connection, Pid process);

}  // namespace ptrace_prof
