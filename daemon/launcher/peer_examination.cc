#include "daemon/launcher/peer_examination.h"

#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "attach/base/capability_sets.h"
#include "attach/proc/own_namespaces.h"
#include "attach/proc/procfs.h"
#include "daemon/launcher/launch_message.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace ptrace_prof {
namespace {

// What a collector of root's may be given: to read any process and its files, and to become its owner.
constexpr uint64_t kHandedOn = uint64_t{1} << CAP_SYS_PTRACE | uint64_t{1} << CAP_DAC_READ_SEARCH |
                               uint64_t{1} << CAP_CHECKPOINT_RESTORE | uint64_t{1} << CAP_SETUID |
                               uint64_t{1} << CAP_SETGID;

bool ReadGroups(int connection, std::vector<Gid>& groups) {
  groups.resize(kMaxLaunchGroups);
  auto size = static_cast<socklen_t>(groups.size() * sizeof(Gid));
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) {
    groups.clear();
    return false;
  }
  groups.resize(size / sizeof(Gid));
  return true;
}

// Since Linux 6.5 the kernel keeps the process that connected. Before, this is whichever process has its pid now.
UniqueFd PinPeer(int connection, pid_t pid) {
  int fd = -1;
  socklen_t size = sizeof fd;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) != 0) {
    fd = errno == ENOPROTOOPT ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1;
  }
  return UniqueFd(fd);
}

// With CAP_SYS_PTRACE we can read every process, unless a security module hides it on purpose.
bool MayLookAtAll() {
  const auto own = ReadProcessStatus(Pid(::getpid()));
  return own.has_value() && (own.value().cap_effective >> CAP_SYS_PTRACE & 1) != 0;
}

PeerVerdict LookAt(ExaminedPeer& peer, const UniqueFd& pidfd) {
  std::optional<bool> is_ours = InOurUserNamespace(peer.pid);
  // A launcher of an ordinary user, or of a container's root, cannot look at this root and has no capability for it.
  const bool is_root = peer.who.uid.value == 0;
  const bool is_contained = InOurPidNamespace(peer.pid) == false;  // it cannot name processes of our PID namespace
  const bool is_above_us = !is_ours.has_value() && is_root && !MayLookAtAll();
  if (is_above_us) {
    is_ours = true;
  } else if (is_root && !is_contained) {
    const auto status = ReadProcessStatus(peer.pid);
    peer.who.capabilities = status.has_value() ? status.value().cap_effective & kHandedOn : 0;
  }
  peer.is_administrator = is_root && !is_contained && ((peer.who.capabilities & kSysPtrace) != 0 || !MayLookAtAll());
  if (HasExited(pidfd)) {
    return PeerVerdict::kEnded;  // the facts read above may belong to another process
  }
  if (!is_ours.has_value()) {
    return PeerVerdict::kHidden;
  }
  return *is_ours ? PeerVerdict::kKnown : PeerVerdict::kOtherNamespace;
}

}  // namespace

uint64_t RootsCapabilities() { return kHandedOn; }

ExaminedPeer ExaminePeer(int connection) {
  ExaminedPeer peer;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return peer;
  }
  peer.who.uid = Uid(credentials.uid);
  peer.who.gid = Gid(credentials.gid);
  peer.pid = Pid(credentials.pid);
  if (credentials.pid <= 0) {
    peer.verdict = PeerVerdict::kNoPid;
  } else if (peer.who.uid == OverflowUid()) {
    peer.verdict = PeerVerdict::kNoUser;
  } else if (!ReadGroups(connection, peer.who.groups)) {
    peer.verdict = PeerVerdict::kTooMany;
  } else if (const UniqueFd pidfd = PinPeer(connection, credentials.pid); !pidfd.is_open()) {
    peer.verdict = PeerVerdict::kEnded;
  } else {
    peer.verdict = LookAt(peer, pidfd);
  }
  return peer;
}

}  // namespace ptrace_prof
