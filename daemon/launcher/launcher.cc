#include "daemon/launcher/launcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "attach/base/descriptor_packet.h"
#include "attach/base/started_thread.h"
#include "attach/base/types.h"
#include "attach/proc/own_namespaces.h"
#include "daemon/launcher/start_collector.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxChildren = 4096;
constexpr size_t kMaxPeers = 8192;
constexpr size_t kMaxVouched = 65536;
constexpr int kMostLetIn = 8;  // before the launcher serves its other sockets
constexpr int kReapMs = 100;   // the end of a child without a pidfd wakes no poll
constexpr Nanos kStopPatience = Nanos::FromSeconds(5);

uint32_t CpuMillis(const rusage& used) {
  const auto of = [](const timeval& time) { return time.tv_sec * 1000 + time.tv_usec / 1000; };
  return static_cast<uint32_t>(of(used.ru_utime) + of(used.ru_stime));
}

}  // namespace

void Launcher::Run() {
  while (!closed_ && (Attempt([this] { Wait(-1); }).has_value() || ::poll(nullptr, 0, kNoDescriptorPauseMs) <= 0)) {
  }
}

void Launcher::Wait(int timeout_ms) {
  std::vector<pollfd> events;
  events.push_back({closed_ ? -1 : sockets_.commands.get(), POLLIN, 0});
  events.push_back({closed_ ? -1 : sockets_.listening.get(), POLLIN, 0});
  events.push_back({closed_ ? -1 : sockets_.door.get(), static_cast<short>(arrival_.has_value() ? POLLOUT : 0), 0});
  for (const auto& [number, child] : children_) {
    events.push_back({child.pidfd.get(), POLLIN, 0});
  }
  for (const Child& grantor : grantors_) {
    events.push_back({grantor.pidfd.get(), POLLIN, 0});
  }
  if (::poll(events.data(), events.size(), TimeoutFor(timeout_ms)) < 0) {
    return;
  }
  ReapEnded();
  if (events[0].revents != 0) {
    Serve();
  }
  if (closed_) {
    return;
  }
  // The daemon takes no more connections: new ones stay in the kernel's queue.
  if ((events[2].revents & (POLLHUP | POLLERR)) != 0) {
    sockets_.door.reset();
    sockets_.listening.reset();
    arrival_.reset();
    arrivals_ = {};
    return;
  }
  if (events[1].revents != 0) {
    arrivals_.Take(sockets_.listening.get(), MonotonicNow());
  }
  LetIn();
}

// Time until the next connection is due. A connection for which the door has no room waits for the door instead.
int Launcher::TimeoutFor(int wanted_ms) const {
  const std::optional<Nanos> turn = closed_ || arrival_.has_value() ? std::nullopt : arrivals_.NextTurn();
  if (!turn.has_value()) {
    return wanted_ms;
  }
  const auto left = static_cast<int>(std::max((*turn - MonotonicNow()).value + 999'999, int64_t{0}) / 1'000'000);
  return wanted_ms < 0 ? left : std::min(wanted_ms, left);
}

void Launcher::LetIn() {
  for (int i = 0; i < kMostLetIn; ++i) {
    if (!arrival_.has_value()) {
      UniqueFd connection = arrivals_.Next(MonotonicNow());
      if (!connection.is_open()) {
        return;
      }
      PeerMessage message{next_peer_++, ExaminePeer(connection.get())};
      if (message.peer.verdict == PeerVerdict::kKnown && peers_.size() >= kMaxPeers) {
        message.peer.verdict = PeerVerdict::kTooMany;
      }
      arrival_ = {std::move(connection), std::move(message)};
    }
    if (!HandOnArrival()) {
      return;
    }
  }
}

// Returns false if the door has no room now.
bool Launcher::HandOnArrival() {
  const int descriptors[] = {arrival_->connection.get()};
  const int refused = SendPacket(sockets_.door.get(), EncodePeer(arrival_->message), descriptors, MSG_DONTWAIT);
  if (refused == EAGAIN || refused == ENOBUFS || refused == ETOOMANYREFS) {
    return false;
  }
  if (refused == 0 && arrival_->message.peer.verdict == PeerVerdict::kKnown) {
    peers_[arrival_->message.number] = arrival_->message.peer.who;
  }
  arrival_.reset();
  return true;
}

void Launcher::ReapEnded() {
  for (auto at = children_.begin(); at != children_.end();) {
    int status = 0;
    rusage used{};
    if (::wait4(at->second.pid, &status, WNOHANG, &used) != at->second.pid) {
      ++at;
      continue;
    }
    Send({.kind = LaunchKind::kEnded,
          .number = at->first,
          .pid = at->second.pid,
          .status = status,
          .cpu_ms = CpuMillis(used)});
    at = children_.erase(at);
  }
  std::erase_if(grantors_,
                [](const Child& grantor) { return ::waitpid(grantor.pid, nullptr, WNOHANG) == grantor.pid; });
}

// Returns the collector's end of the line to a memory grantor; closed if this caller gets no grants.
UniqueFd Launcher::LineToGrantor(const CallerIdentity& caller) {
  if (yama_ == YamaRule::kObeyed) {
    return {};
  }
  MemoryGrantor grantor = StartMemoryGrantor(caller);
  if (grantor.pid > 0) {
    grantors_.push_back({grantor.pid, std::move(grantor.pidfd)});
  }
  return std::move(grantor.line);
}

void Launcher::Serve() {
  static std::byte buffer[kMaxLaunchMessage + 1];  // one byte more, to detect a message that is too long
  const ssize_t got = ::recv(sockets_.commands.get(), buffer, sizeof buffer, 0);
  if (got <= 0) {
    closed_ = got == 0 || errno != EINTR;
    return;
  }
  const std::span<const std::byte> packet(buffer, static_cast<size_t>(got));
  const auto header = DecodeLaunchHeader(packet);
  if (header.has_error()) {
    closed_ = true;  // the sender does not behave like our daemon
    return;
  }
  Obey(header.value(), packet);
}

void Launcher::Obey(const LaunchHeader& header, std::span<const std::byte> packet) {
  if (header.kind == LaunchKind::kVouch || header.kind == LaunchKind::kSealed) {
    closed_ = closed_ || sealed_;  // our daemon sends neither again after kSealed
    sealed_ = sealed_ || header.kind == LaunchKind::kSealed;
    Vouch(packet);
  } else if (header.kind == LaunchKind::kStart) {
    Start(packet);
  } else if (header.kind == LaunchKind::kLook) {
    Answer(EncodeLooked(header.number, LookAtTarget(Pid(header.pid))));
  } else if (header.kind == LaunchKind::kPeerGone) {
    peers_.erase(header.peer);
  } else if (const auto child = children_.find(header.number);
             header.kind == LaunchKind::kKill && child != children_.end()) {
    ::kill(child->second.pid, SIGKILL);  // our child, not yet reaped, so its pid is not reused
  }
}

// Root and the overflow user are accepted only if the policy names them expressly.
void Launcher::Vouch(std::span<const std::byte> packet) {
  auto message = DecodePeer(packet, LaunchKind::kVouch);
  if (sealed_ || message.has_error() || vouched_.size() >= kMaxVouched) {
    return;
  }
  CallerIdentity& who = message.value().peer.who;
  if (message.value().is_express || (who.uid.value != 0 && who.uid != OverflowUid())) {
    who.capabilities = who.uid.value == 0 ? RootsCapabilities() : 0;
    vouched_[VouchedPeer(who.uid)] = std::move(who);
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
  const auto peer = peers_.find(request.value().peer);
  const auto vouched = sealed_ ? vouched_.find(request.value().peer) : vouched_.end();
  const CallerIdentity* caller = peer != peers_.end()        ? &peer->second
                                 : vouched != vouched_.end() ? &vouched->second
                                                             : nullptr;
  if (caller == nullptr) {
    Send(answer);
    return;
  }
  LaunchFailure failure;
  auto started = StartCollector(request.value(), *caller, LineToGrantor(*caller), failure);
  if (!started.has_value()) {
    answer.stage = failure.stage;
    answer.status = failure.error_number;
    Send(answer);
    return;
  }
  if (!started->pidfd.is_open()) {
    ::kill(started->pid, SIGKILL);
    grantors_.push_back({started->pid, {}});  // only to be reaped; no kEnded is sent
    answer.stage = LaunchStage::kResources;
    answer.status = EMFILE;
    Send(answer);
    return;
  }
  const int descriptors[kLaunchDescriptors] = {started->stream.get(), started->control.get(), started->pidfd.get(),
                                               started->report.get()};
  children_[answer.number] = {started->pid, std::move(started->pidfd)};
  Send({.kind = LaunchKind::kStarted, .number = answer.number, .pid = started->pid}, descriptors);
}

bool Launcher::Send(const LaunchHeader& header, std::span<const int> descriptors) {
  return Answer(std::as_bytes(std::span(&header, 1)), descriptors);
}

bool Launcher::Answer(std::span<const std::byte> packet, std::span<const int> descriptors) {
  closed_ = closed_ || SendPacket(sockets_.commands.get(), packet, descriptors) != 0;
  return !closed_;
}

void Launcher::EndAll() {
  sockets_ = {};
  const Nanos deadline = MonotonicNow() + kStopPatience;
  bool killed = false;
  while (!children_.empty() || !grantors_.empty()) {
    const Nanos left = deadline - MonotonicNow();
    if (left.value <= 0 && !killed) {
      killed = true;
      for (const auto& [number, child] : children_) {
        ::kill(child.pid, SIGKILL);
      }
      for (const Child& grantor : grantors_) {
        ::kill(grantor.pid, SIGKILL);
      }
    }
    Wait(killed ? kReapMs : static_cast<int>(left.value / 1'000'000) + 1);
  }
}

}  // namespace ptrace_prof
