// The identity of the peer of a connection, as the launcher learns it from the kernel.
//
// User and groups are those with which the peer connected, even if it has changed them since. Whether the peer lives in
// our user namespace is read from /proc while a pidfd holds the process: in another namespace a user ID means another
// user, and the kernel's checks there differ from those here. Stateless.
#pragma once

#include <cstdint>

#include "attach/base/types.h"
#include "daemon/launcher/caller_identity.h"

namespace ptrace_prof {

enum class PeerVerdict : uint32_t {
  kKnown,
  kNoPid,           // in a PID namespace that is not below ours
  kNoUser,          // has no user ID in our user namespace
  kOtherNamespace,  // in another user namespace
  kEnded,           // before it could be examined
  kHidden,          // the kernel does not show it to us, or there is no /proc
  kTooMany,         // groups, or connections
};

struct ExaminedPeer {
  PeerVerdict verdict = PeerVerdict::kHidden;
  CallerIdentity who;
  Pid pid;  // 0: not known
  // True for a root to whom we could give no capability that it lacks. Any other root, as in a container with fewer
  // capabilities or with a PID namespace of its own, counts as an ordinary user.
  bool is_administrator = false;
};

// The capabilities that a root who may read every process hands on to a collector.
uint64_t RootsCapabilities();

ExaminedPeer ExaminePeer(int connection);

}  // namespace ptrace_prof
