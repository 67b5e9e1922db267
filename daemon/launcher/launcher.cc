#include "daemon/launcher/launcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "attach/base/types.h"
#include "daemon/launcher/start_collector.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxChildren = 4096;
constexpr size_t kMaxPeers = 8192;
constexpr int kNoDescriptorPauseMs = 20;
constexpr Nanos kStopPatience = Nanos::FromSeconds(5);

// One packet, with descriptors. 0, or the errno.
int SendPacket(int socket, std::span<const std::byte> packet, std::span<const int> descriptors, int flags) {
  iovec bytes{const_cast<std::byte*>(packet.data()), packet.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kLaunchDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | flags);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0 ? 0 : errno;
}

}  // namespace

void Launcher::Run() {
  while (!closed_) {
    Wait(-1);
  }
}

void Launcher::Wait(int timeout_ms) {
  std::vector<pollfd> events;
  events.push_back({closed_ ? -1 : sockets_.commands.get(), POLLIN, 0});
  events.push_back({closed_ || arrival_.has_value() ? -1 : sockets_.listening.get(), POLLIN, 0});
  events.push_back({closed_ ? -1 : sockets_.door.get(), static_cast<short>(arrival_.has_value() ? POLLOUT : 0), 0});
  for (const auto& [number, child] : children_) {
    events.push_back({child.pidfd.get(), POLLIN, 0});
  }
  if (::poll(events.data(), events.size(), timeout_ms) < 0) {
    return;
  }
  ReapEnded();
  if (events[0].revents != 0) {
    Serve();
  }
  if (closed_) {
    return;
  }
  if ((events[2].revents & (POLLHUP | POLLERR)) != 0) {  // nobody is let in any more: who knocks now waits
    sockets_.door.reset();
    sockets_.listening.reset();
    arrival_.reset();
    return;
  }
  if (events[1].revents != 0) {
    AcceptPeer();
  }
  if (arrival_.has_value()) {
    LetIn();
  }
}

void Launcher::AcceptPeer() {
  UniqueFd connection(::accept4(sockets_.listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!connection.is_open()) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      ::poll(nullptr, 0, kNoDescriptorPauseMs);  // who waits is still there then
    }
    return;
  }
  PeerMessage message{next_peer_++, ExaminePeer(connection.get())};
  if (message.peer.verdict == PeerVerdict::kKnown && peers_.size() >= kMaxPeers) {
    message.peer.verdict = PeerVerdict::kTooMany;
  }
  arrival_ = {std::move(connection), std::move(message)};
}

void Launcher::LetIn() {
  const int descriptors[] = {arrival_->connection.get()};
  const int refused = SendPacket(sockets_.door.get(), EncodePeer(arrival_->message), descriptors, MSG_DONTWAIT);
  if (refused == EAGAIN || refused == ENOBUFS || refused == ETOOMANYREFS) {
    return;  // later
  }
  if (refused == 0 && arrival_->message.peer.verdict == PeerVerdict::kKnown) {
    peers_[arrival_->message.number] = arrival_->message.peer.who;
  }
  arrival_.reset();
}

void Launcher::ReapEnded() {
  for (auto at = children_.begin(); at != children_.end();) {
    int status = 0;
    if (::waitpid(at->second.pid, &status, WNOHANG) != at->second.pid) {
      ++at;
      continue;
    }
    Send({.kind = LaunchKind::kEnded, .number = at->first, .pid = at->second.pid, .status = status});
    at = children_.erase(at);
  }
}

void Launcher::Serve() {
  static std::byte buffer[kMaxLaunchMessage + 1];  // one more: what is too long shows
  const ssize_t got = ::recv(sockets_.commands.get(), buffer, sizeof buffer, 0);
  if (got <= 0) {
    closed_ = got == 0 || errno != EINTR;
    return;
  }
  const std::span<const std::byte> packet(buffer, static_cast<size_t>(got));
  const auto header = DecodeLaunchHeader(packet);
  if (header.has_error()) {
    closed_ = true;  // whoever sends this is not the daemon that we know
    return;
  }
  if (header.value().kind == LaunchKind::kStart) {
    Start(packet);
  } else if (header.value().kind == LaunchKind::kLook) {
    Answer(EncodeLooked(header.value().number, LookAtTarget(Pid(header.value().pid))));
  } else if (header.value().kind == LaunchKind::kPeerGone) {
    peers_.erase(header.value().peer);
  } else if (const auto child = children_.find(header.value().number);
             header.value().kind == LaunchKind::kKill && child != children_.end()) {
    ::kill(child->second.pid, SIGKILL);  // ours and not reaped: the pid is still its own
  }
}

void Launcher::Start(std::span<const std::byte> packet) {
  const auto request = DecodeLaunch(packet);
  LaunchHeader answer{.kind = LaunchKind::kFailed, .stage = LaunchStage::kRequest, .status = EINVAL};
  if (request.has_error()) {
    answer.number = DecodeLaunchHeader(packet).value().number;
    Send(answer);
    return;
  }
  answer.number = request.value().number;
  if (children_.size() >= kMaxChildren || children_.contains(answer.number)) {
    answer.stage = LaunchStage::kResources;
    answer.status = EAGAIN;
    Send(answer);
    return;
  }
  const auto caller = peers_.find(request.value().peer);
  if (caller == peers_.end()) {
    Send(answer);
    return;
  }
  LaunchFailure failure;
  auto started = StartCollector(request.value(), caller->second, failure);
  if (!started.has_value()) {
    answer.stage = failure.stage;
    answer.status = failure.error_number;
    Send(answer);
    return;
  }
  const int descriptors[kLaunchDescriptors] = {started->stream.get(), started->control.get(), started->pidfd.get()};
  Send({.kind = LaunchKind::kStarted, .number = answer.number, .pid = started->pid}, descriptors);
  children_[answer.number] = {started->pid, std::move(started->pidfd)};
}

bool Launcher::Send(const LaunchHeader& header, std::span<const int> descriptors) {
  return Answer(std::as_bytes(std::span(&header, 1)), descriptors);
}

bool Launcher::Answer(std::span<const std::byte> packet, std::span<const int> descriptors) {
  closed_ = closed_ || SendPacket(sockets_.commands.get(), packet, descriptors, 0) != 0;
  return !closed_;
}

void Launcher::EndAll() {
  sockets_ = {};
  const Nanos deadline = MonotonicNow() + kStopPatience;
  bool killed = false;
  while (!children_.empty()) {
    const Nanos left = deadline - MonotonicNow();
    if (left.value <= 0 && !killed) {
      killed = true;
      for (const auto& [number, child] : children_) {
        ::kill(child.pid, SIGKILL);
      }
    }
    Wait(killed ? -1 : static_cast<int>(left.value / 1'000'000) + 1);
  }
}

}  // namespace ptrace_prof
