// Who is at the other end of a connection, asked of the kernel by the one who is believed: the launcher.
//
// The user and the groups are those with which the peer connected, whatever it has become since. That it lives in our
// user namespace is looked up in /proc while a pidfd holds the process: there a number means something else, and what
// the kernel would let it do is not what it would let that user do here. Stateless.
#pragma once

#include <cstdint>

#include "attach/base/types.h"
#include "daemon/launcher/caller_identity.h"

namespace ptrace_prof {

enum class PeerVerdict : uint32_t {
  kKnown,
  kNoPid,           // in a PID namespace that is not below ours
  kNoUser,          // has no number in our user namespace
  kOtherNamespace,  // in another user namespace
  kEnded,           // before it could be looked at
  kHidden,          // the kernel does not tell us, or there is no /proc
  kTooMany,         // groups, or connections
};

struct ExaminedPeer {
  PeerVerdict verdict = PeerVerdict::kHidden;
  CallerIdentity who;
  Pid pid;  // 0: not known
  // Root to whom we have no capability to give that he does not have: another root, as of a container that was given
  // less or has processes of its own (a PID namespace), is one user among others.
  bool is_administrator = false;
};

// What a root who may read everybody hands on to a collector.
uint64_t RootsCapabilities();

ExaminedPeer ExaminePeer(int connection);

}  // namespace ptrace_prof
