// Who connected to a Unix socket, asked of the kernel, which cannot be lied to. Stateless.
#pragma once

#include "attach/base/result.h"
#include "rpc/peer_identity.h"

namespace ptrace_prof {

// kUnauthenticated: the kernel cannot say who it is (another user or PID namespace, without a place in ours).
Result<PeerIdentity> ReadPeerIdentity(int connection);

}  // namespace ptrace_prof
