#include "daemon/session/launcher_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace ptrace_prof {
namespace {

constexpr Nanos kAnswerPatience = Nanos::FromSeconds(10);
constexpr Nanos kLauncherPatience = Nanos::FromSeconds(10);  // longer than the launcher waits for its collectors

Error LauncherGone() {
  return Because(Reason::kLauncherFailed, "the launcher of ptrace-profd has ended: it can start no collector any more",
                 "restart ptrace-profd; captures that go on are not affected, and traces can be fetched until then");
}

Error Explain(const LaunchHeader& failure) {
  switch (failure.stage) {
    case LaunchStage::kIdentity: {
      Error error = ErrnoError(failure.status, "ptrace-profd cannot become the user who asks, to profile as that user",
                               "run ptrace-profd as root, with CAP_SETUID and CAP_SETGID, or as that user");
      error.reason = Reason::kCannotBecomeCaller;
      error.code = CodeOf(error.reason);
      return error;
    }
    case LaunchStage::kProgram: {
      Error error = ErrnoError(failure.status, "the launcher cannot start the collector from /proc/self/exe",
                               "is /proc mounted, may that user execute the file, and is `ulimit -u` large enough?");
      error.reason = Reason::kLauncherFailed;
      return error;
    }
    case LaunchStage::kRequest:
      return Error{Code::kInvalidArgument, "the launcher refuses the request for a collector", ""};
    case LaunchStage::kNone:
    case LaunchStage::kResources: break;
  }
  Error error = ErrnoError(failure.status, "the launcher cannot make another process",
                           "free some processes (ulimit -u), descriptors (ulimit -n) or memory");
  error.reason = Reason::kOutOfResources;
  error.code = CodeOf(error.reason);
  return error;
}

std::chrono::nanoseconds ToChrono(Nanos time) { return std::chrono::nanoseconds(time.value); }

void AwaitEnd(int pidfd, Nanos timeout) {
  pollfd ended{pidfd, POLLIN, 0};
  ::poll(&ended, 1, static_cast<int>(timeout.value / 1'000'000) + 1);
}

}  // namespace

LauncherConnection::LauncherConnection(LauncherProcess launcher)
    : launcher_(std::move(launcher)), thread_([this] { Receive(); }) {}

LauncherConnection::~LauncherConnection() {
  ::shutdown(launcher_.socket.get(), SHUT_RDWR);
  thread_.join();
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, launcher_.pid.value, 0)));
  if (pidfd.is_open()) {
    AwaitEnd(pidfd.get(), kLauncherPatience);
  }
  ::waitpid(launcher_.pid.value, nullptr, WNOHANG);
}

bool LauncherConnection::is_up() const {
  const std::lock_guard lock(mutex_);
  return up_;
}

bool LauncherConnection::Send(std::span<const std::byte> packet) {
  ssize_t sent = 0;
  do {
    sent = ::send(launcher_.socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

void LauncherConnection::ForgetPeer(PeerNumber peer) {
  const LaunchHeader header{.kind = LaunchKind::kPeerGone, .peer = peer.value};
  Send(std::as_bytes(std::span(&header, 1)));
}

Result<LauncherConnection::Started> LauncherConnection::Start(PeerNumber peer, Pid target,
                                                              const std::vector<std::string>& arguments) {
  LaunchRequest request{.number = 0, .peer = peer.value, .target = target, .arguments = arguments};
  {
    const std::lock_guard lock(mutex_);
    request.number = next_number_++;
  }
  PP_ASSIGN_OR_RETURN(const std::vector<std::byte> packet, EncodeLaunch(request));
  {
    const std::lock_guard lock(mutex_);
    slots_[request.number];
  }
  const bool sent = Send(packet);
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[request.number];
  const bool decided =
      sent && changed_.wait_for(lock, ToChrono(kAnswerPatience), [&] { return slot.answered || !up_; });
  if (slot.answered && !slot.failure.has_value()) {
    return std::move(slot.started);
  }
  const std::optional<LaunchHeader> failure = slot.failure;
  slots_.erase(request.number);  // an answer that comes yet finds nobody, and its collector ends
  if (failure.has_value()) {
    return Explain(*failure);
  }
  return decided || !sent ? LauncherGone()
                          : Because(Reason::kLauncherFailed, "the launcher of ptrace-profd does not answer",
                                    "is the machine out of memory, or the process stopped? Try again");
}

void LauncherConnection::Kill(const Started& collector) {
  const LaunchHeader header{.kind = LaunchKind::kKill, .number = collector.number};
  if (!is_up() || !Send(std::as_bytes(std::span(&header, 1)))) {
    ::syscall(SYS_pidfd_send_signal, collector.pidfd.get(), SIGKILL, nullptr, 0);  // where we may
  }
}

std::optional<int> LauncherConnection::Wait(const Started& collector, Nanos timeout) {
  const Nanos deadline = MonotonicNow() + timeout;
  {
    std::unique_lock lock(mutex_);
    const auto known = [&] {
      const auto slot = slots_.find(collector.number);
      return slot == slots_.end() || slot->second.status.has_value();
    };
    changed_.wait_for(lock, ToChrono(timeout), [&] { return known() || !up_; });
    if (const auto slot = slots_.find(collector.number); known()) {
      return slot == slots_.end() ? 0 : slot->second.status;
    }
    if (up_) {
      return std::nullopt;
    }
  }
  return WaitAlone(collector, std::max(deadline - MonotonicNow(), Nanos()));
}

// The launcher is gone: whoever is left is our child, or was never ours to wait for.
std::optional<int> LauncherConnection::WaitAlone(const Started& collector, Nanos timeout) {
  AwaitEnd(collector.pidfd.get(), timeout);
  pollfd ended{collector.pidfd.get(), POLLIN, 0};
  if (::poll(&ended, 1, 0) == 0) {
    return std::nullopt;
  }
  int status = 0;
  if (::waitpid(collector.pid.value, &status, WNOHANG) != collector.pid.value) {
    status = 0;
  }
  const std::lock_guard lock(mutex_);
  slots_[collector.number].status = status;
  return status;
}

void LauncherConnection::Forget(const Started& collector) {
  const std::lock_guard lock(mutex_);
  slots_.erase(collector.number);
}

void LauncherConnection::Receive() {
  while (TakeMessage()) {
  }
  const std::lock_guard lock(mutex_);
  up_ = false;
  changed_.notify_all();
}

bool LauncherConnection::TakeMessage() {
  LaunchHeader header;
  iovec bytes{&header, sizeof header};
  alignas(cmsghdr) char control[CMSG_SPACE(kLaunchDescriptors * sizeof(int))];
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(launcher_.socket.get(), &message, MSG_CMSG_CLOEXEC);
  if (got < 0 && errno == EINTR) {
    return true;
  }
  UniqueFd descriptors[kLaunchDescriptors];
  const cmsghdr* rights = got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
    for (size_t i = 0; i < kLaunchDescriptors && rights->cmsg_len >= CMSG_LEN((i + 1) * sizeof(int)); ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(rights) + i * sizeof(int), sizeof fd);
      descriptors[i].reset(fd);
    }
  }
  if (got != sizeof header) {
    return false;
  }
  TakeAnswer(header, descriptors);
  return true;
}

void LauncherConnection::TakeAnswer(const LaunchHeader& header, std::span<UniqueFd> descriptors) {
  const std::lock_guard lock(mutex_);
  const auto slot = slots_.find(header.number);
  if (slot == slots_.end()) {
    return;  // whatever came with it is closed
  }
  if (header.kind == LaunchKind::kEnded) {
    slot->second.status = header.status;
  } else if (header.kind == LaunchKind::kStarted && descriptors[2].is_open()) {
    slot->second.answered = true;
    slot->second.started = {header.number, Pid(header.pid), std::move(descriptors[0]), std::move(descriptors[1]),
                            std::move(descriptors[2])};
  } else {
    slot->second.answered = true;
    slot->second.failure = header;
  }
  changed_.notify_all();
}

}  // namespace ptrace_prof
