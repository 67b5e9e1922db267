#include "daemon/server/captures/launcher_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "attach/base/started_thread.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kAnswerPatience = Nanos::FromSeconds(10);
constexpr Nanos kLauncherPatience = Nanos::FromSeconds(10);  // longer than the launcher waits for its collectors

Error LauncherGone() {
  return Because(Reason::kLauncherFailed, "the launcher of ptrace-profd has ended, so no collector can be started",
                 "restart ptrace-profd, unless systemd does: it ends running captures, keeps their traces, and exits");
}

Error Explain(LaunchStage stage, int error_number) {
  switch (stage) {
    case LaunchStage::kIdentity: {
      Error error =
          ErrnoError(error_number, "ptrace-profd cannot become the calling user, to profile with that user's rights",
                     "run ptrace-profd as root, with CAP_SETUID and CAP_SETGID, or as that user");
      error.reason = Reason::kCannotBecomeCaller;
      error.code = CodeOf(error.reason);
      return error;
    }
    case LaunchStage::kProgram: {
      Error error =
          ErrnoError(error_number, "the launcher cannot start the collector from /proc/self/exe",
                     "check that /proc is mounted, that user may execute the file, and `ulimit -u` is large enough");
      error.reason = Reason::kLauncherFailed;
      return error;
    }
    case LaunchStage::kRequest:
      return Error{Code::kInvalidArgument, "the launcher rejected the request for a collector", ""};
    case LaunchStage::kNone:
    case LaunchStage::kResources: break;
  }
  Error error = ErrnoError(error_number, "the launcher cannot start another process",
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

Result<std::shared_ptr<LauncherConnection>> LauncherConnection::Open(LauncherProcess launcher) {
  std::shared_ptr<LauncherConnection> connection(new LauncherConnection(std::move(launcher)));
  PP_ASSIGN_OR_RETURN(connection->thread_, StartThread([raw = connection.get()] { raw->Receive(); }));
  return connection;
}

LauncherConnection::~LauncherConnection() {
  ::shutdown(launcher_.socket.get(), SHUT_RDWR);
  if (thread_.joinable()) {
    thread_.join();
  }
  if (const UniqueFd pidfd = OpenPidfd(); pidfd.is_open()) {
    AwaitEnd(pidfd.get(), kLauncherPatience);
  }
  ::waitpid(launcher_.pid.value, nullptr, WNOHANG);
}

bool LauncherConnection::is_up() const {
  const std::lock_guard lock(mutex_);
  return up_;
}

UniqueFd LauncherConnection::OpenPidfd() const {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, launcher_.pid.value, 0)));
}

bool LauncherConnection::Send(std::span<const std::byte> packet) {
  for (const Nanos deadline = MonotonicNow() + kAnswerPatience;;) {
    if (::send(launcher_.socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
      return true;
    }
    const Nanos left = deadline - MonotonicNow();
    if ((errno != EAGAIN && errno != EINTR) || left.value <= 0) {
      return false;
    }
    pollfd has_room{launcher_.socket.get(), POLLOUT, 0};
    ::poll(&has_room, 1, static_cast<int>(left.value / 1'000'000) + 1);
  }
}

Result<void> LauncherConnection::Vouch(const std::vector<Vouching>& users) {
  bool sent = true;
  for (const Vouching& user : users) {
    PeerMessage message{VouchedPeer(user.who.uid), {PeerVerdict::kKnown, user.who, Pid()}};
    message.is_express = user.is_express;
    sent = sent && Send(EncodePeer(message, LaunchKind::kVouch));
  }
  const LaunchHeader sealed{.kind = LaunchKind::kSealed};
  if (!sent || !Send(std::as_bytes(std::span(&sealed, 1)))) {
    return Error{Code::kUnavailable, "the launcher of ptrace-profd has ended", "restart ptrace-profd"};
  }
  return {};
}

void LauncherConnection::ForgetPeer(PeerNumber peer) {
  const LaunchHeader header{.kind = LaunchKind::kPeerGone, .peer = peer.value};
  Send(std::as_bytes(std::span(&header, 1)));
}

uint64_t LauncherConnection::TakeNumber() {
  const std::lock_guard lock(mutex_);
  return next_number_++;
}

Result<LaunchHeader> LauncherConnection::Ask(uint64_t number, std::span<const std::byte> packet) {
  {
    const std::lock_guard lock(mutex_);
    slots_[number];
  }
  const bool sent = Send(packet);
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[number];
  const bool decided =
      sent && changed_.wait_for(lock, ToChrono(kAnswerPatience), [&] { return slot.answer.has_value() || !up_; });
  if (slot.answer.has_value()) {
    return *slot.answer;
  }
  slots_.erase(number);  // a late answer finds no slot, and its collector ends
  return decided || !sent ? LauncherGone()
                          : Because(Reason::kLauncherFailed, "the launcher of ptrace-profd does not answer",
                                    "check that the machine has memory and the launcher is not stopped, and try again");
}

Result<LauncherConnection::Started> LauncherConnection::Start(PeerNumber peer, Pid target,
                                                              const std::vector<std::string>& arguments) {
  const LaunchRequest request{.number = TakeNumber(), .peer = peer.value, .target = target, .arguments = arguments};
  PP_ASSIGN_OR_RETURN(const std::vector<std::byte> packet, EncodeLaunch(request));
  PP_ASSIGN_OR_RETURN(const LaunchHeader answer, Ask(request.number, packet));
  const std::lock_guard lock(mutex_);
  if (answer.kind != LaunchKind::kStarted) {
    slots_.erase(request.number);
    return Explain(answer.stage, answer.status);
  }
  Started started = std::move(slots_[request.number].started);
  return started;
}

std::optional<Error> LauncherConnection::WhyNotStarted(const Started& collector) {
  pollfd is_there{collector.report.get(), POLLIN, 0};
  LaunchFailure failure;
  if (::poll(&is_there, 1, 0) != 1 || ::read(collector.report.get(), &failure, sizeof failure) != sizeof failure) {
    return std::nullopt;
  }
  return Explain(failure.stage, failure.error_number);
}

Result<TargetFacts> LauncherConnection::Look(Pid target) {
  const LaunchHeader question{.kind = LaunchKind::kLook, .number = TakeNumber(), .pid = target.value};
  PP_RETURN_IF_ERROR(Ask(question.number, std::as_bytes(std::span(&question, 1))));
  std::vector<std::byte> packet;
  {
    const std::lock_guard lock(mutex_);
    packet = std::move(slots_[question.number].packet);
    slots_.erase(question.number);
  }
  PP_ASSIGN_OR_RETURN(TargetLook look, DecodeLooked(packet));
  if (look.refused != 0) {
    return ErrnoError(look.refused, fmt::format("cannot examine process {}", target.value));
  }
  return TargetFacts{look.owner, std::move(look.command), std::move(look.program), std::move(look.cgroup)};
}

void LauncherConnection::Kill(const Started& collector) {
  const LaunchHeader header{.kind = LaunchKind::kKill, .number = collector.number};
  if (!is_up() || !Send(std::as_bytes(std::span(&header, 1)))) {
    ::syscall(SYS_pidfd_send_signal, collector.pidfd.get(), SIGKILL, nullptr, 0);  // if we are permitted to
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

// The launcher has ended. A collector that still runs is either our child, or a process that we cannot wait for.
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

Nanos LauncherConnection::CpuOf(const Started& collector) const {
  const std::lock_guard lock(mutex_);
  const auto slot = slots_.find(collector.number);
  return slot == slots_.end() ? Nanos() : slot->second.cpu;
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
  alignas(LaunchHeader) std::byte buffer[kMaxLooked];
  iovec bytes{buffer, sizeof buffer};
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
  const std::span packet(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  const auto header = DecodeLaunchHeader(packet);
  if (header.has_error()) {
    return false;
  }
  TakeAnswer(header.value(), packet, descriptors);
  return true;
}

void LauncherConnection::TakeAnswer(const LaunchHeader& header, std::span<const std::byte> packet,
                                    std::span<UniqueFd> descriptors) {
  const std::lock_guard lock(mutex_);
  const auto slot = slots_.find(header.number);
  if (slot == slots_.end()) {
    return;  // the descriptors that came with it are closed
  }
  if (header.kind == LaunchKind::kEnded) {
    slot->second.status = header.status;
    slot->second.cpu = Nanos::FromMillis(header.cpu_ms);
  } else if (header.kind == LaunchKind::kStarted && descriptors[3].is_open()) {
    slot->second.answer = header;
    slot->second.started = {header.number,
                            Pid(header.pid),
                            std::move(descriptors[0]),
                            std::move(descriptors[1]),
                            std::move(descriptors[2]),
                            std::move(descriptors[3])};
  } else {
    slot->second.answer = header;
    slot->second.answer->kind = header.kind == LaunchKind::kLooked ? header.kind : LaunchKind::kFailed;
    slot->second.packet.assign(packet.begin(), packet.end());
  }
  changed_.notify_all();
}

}  // namespace ptrace_prof
