#include "rpc/unix/peer_credentials.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "attach/base/unique_fd.h"

namespace ptrace_prof {
namespace {

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

// The user ID that the kernel shows for users without a number in our user namespace.
uint32_t OverflowUid() {
  uint32_t uid = 65534;
  std::ifstream("/proc/sys/kernel/overflowuid") >> uid;
  return uid;
}

Result<std::vector<uint32_t>> ReadGroups(int connection) {
  std::vector<uint32_t> groups(64);
  socklen_t size = static_cast<socklen_t>(groups.size() * sizeof(uint32_t));
  int failed = ::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
  if (failed != 0 && errno == ERANGE) {
    groups.resize(size / sizeof(uint32_t));
    failed = ::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
  }
  if (failed != 0) {
    return ErrnoError(errno, "cannot read the groups of the client");
  }
  groups.resize(size / sizeof(uint32_t));
  return groups;
}

}  // namespace

Result<PeerIdentity> ReadPeerIdentity(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return ErrnoError(errno, "cannot read the user and process of the client");
  }
  if (peer.pid <= 0) {
    return Error{Code::kUnauthenticated, "the client is outside of the PID namespace of ptrace-profd",
                 "run ptrace-profd in the PID namespace of the host"};
  }
  if (peer.uid == OverflowUid()) {
    return Error{
        Code::kUnauthenticated,
        fmt::format("process {} connects as a user without an id in this user namespace ({})", peer.pid, peer.uid),
        "connect as a user that has an id in the user namespace of ptrace-profd"};
  }
  PP_ASSIGN_OR_RETURN(std::vector<uint32_t> groups, ReadGroups(connection));
  return PeerIdentity{.uid = peer.uid, .gid = peer.gid, .groups = std::move(groups), .pid = Pid(peer.pid)};
}

std::string ReadPeerCommand(int connection, Pid process) {
  int raw = -1;
  socklen_t size = sizeof raw;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &raw, &size) != 0) {
    return "";
  }
  const UniqueFd pinned(raw);
  std::string command;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", process.value)), command);
  pollfd end{pinned.get(), POLLIN, 0};
  return ::poll(&end, 1, 0) == 0 ? command : "";  // the process was alive all the time, so the number was not reused
}

}  // namespace ptrace_prof
