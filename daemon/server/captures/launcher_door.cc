#include "daemon/server/captures/launcher_door.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace ptrace_prof {
namespace {

Error Unauthenticated(std::string message, std::string remedy) {
  return {Code::kUnauthenticated, std::move(message), std::move(remedy)};
}

Result<void> Explain(const ExaminedPeer& peer) {
  switch (peer.verdict) {
    case PeerVerdict::kKnown: return {};
    case PeerVerdict::kNoPid:
      return Unauthenticated("the client is outside the PID namespace of ptrace-profd",
                             "run ptrace-profd in the PID namespace of the host");
    case PeerVerdict::kNoUser:
      return Unauthenticated(fmt::format("process {} connects as a user without an id in this user namespace ({})",
                                         peer.pid.value, peer.who.uid.value),
                             "connect as a user that has an ID in the user namespace of ptrace-profd");
    case PeerVerdict::kOtherNamespace:
      return Unauthenticated(
          fmt::format("process {} (user {} here) connects from another user namespace, where different rights apply",
                      peer.pid.value, peer.who.uid.value),
          "connect from outside that namespace, or run a ptrace-profd inside it");
    case PeerVerdict::kEnded:
      return Unauthenticated(fmt::format("process {} connected and then ended", peer.pid.value),
                             "connect with a process that lives as long as its connection");
    case PeerVerdict::kTooMany:
      return Because(Reason::kQuota, "there are too many connections, or the client is in too many groups",
                     "close some, or try again in a moment");
    case PeerVerdict::kHidden: break;
  }
  return Unauthenticated(fmt::format("ptrace-profd cannot determine the user of process {}", peer.pid.value),
                         "give ptrace-profd CAP_SYS_PTRACE and a /proc of its own PID namespace");
}

}  // namespace

std::optional<LauncherDoor::Arrival> LauncherDoor::Take() {
  std::byte buffer[sizeof(LaunchHeader) + kMaxLaunchGroups * sizeof(Gid)];
  iovec bytes{buffer, sizeof buffer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got <= 0) {
    closed_ = got == 0 || (errno != EAGAIN && errno != EINTR);
    return std::nullopt;
  }
  UniqueFd connection;
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len >= CMSG_LEN(sizeof(int))) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    connection.reset(fd);
  }
  auto decoded = DecodePeer({buffer, static_cast<size_t>(got)});
  if (decoded.has_error()) {
    return std::nullopt;
  }
  PeerMessage& arrived = decoded.value();
  return Arrival{std::move(connection), PeerNumber(arrived.number),    std::move(arrived.peer.who),
                 arrived.peer.pid,      arrived.peer.is_administrator, Explain(arrived.peer)};
}

}  // namespace ptrace_prof
