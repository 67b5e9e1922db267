// The owner of the captures that a peer creates.
#pragma once

#include "daemon/server/captures/capture_facts.h"
#include "rpc/connection/peer_identity.h"

namespace ptrace_prof {

inline CaptureUser UserOf(const PeerIdentity& peer) { return {peer.uid, peer.is_administrator}; }

}  // namespace ptrace_prof
