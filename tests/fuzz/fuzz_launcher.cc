// The launcher's protocol over real sockets; arbitrary packets play one end.
//
// First byte even: the daemon asks, and a hostile launcher answers. Odd: a hostile daemon asks a launcher to which no
// client has connected. The launcher's answers are decoded as the daemon does, and it starts nothing. Neither waits
// longer than until the other end closes. The packets follow that byte: a byte that says how each is made, a byte of
// size, and bytes.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "daemon/launcher/launcher.h"
#include "daemon/server/captures/launcher_connection.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostPackets = 12;

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

using Packet = std::vector<std::byte>;

struct Crafted {
  Packet bytes;
  bool follows_question = false;  // takes over the number and, as far as it fits, the kind of the request
  bool has_descriptors = false;
};

std::vector<Crafted> PacketsFrom(std::span<const uint8_t> data) {
  std::vector<Crafted> packets;
  while (data.size() > 2 && packets.size() < kMostPackets) {
    const uint8_t how = data[0];
    const size_t size = std::min<size_t>(data[1], data.size() - 2);
    LaunchHeader header{.kind = static_cast<LaunchKind>(1 + (how >> 4) % 11), .number = how & 2U};
    header.arguments = size > 0 ? 1 : 0;
    header.pid = static_cast<int32_t>(size) - 1;
    const size_t before = (how & 1) != 0 ? sizeof header : 0;  // a valid header, before the bytes that follow
    Packet bytes(before + size);
    const auto middle = std::copy_n(std::as_bytes(std::span(&header, 1)).begin(), before, bytes.begin());
    std::copy_n(std::as_bytes(data).begin() + 2, size, middle);
    packets.push_back({std::move(bytes), (how & 4) != 0, (how & 8) != 0});
    data = data.subspan(2 + size);
  }
  return packets;
}

struct Pair {
  Pair() {
    int ends[2];
    Require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
  }
  UniqueFd ours;
  UniqueFd theirs;
};

void SendWithDescriptors(int socket, const Packet& packet, bool has_descriptors) {
  iovec bytes{const_cast<std::byte*>(packet.data()), packet.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kLaunchDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  UniqueFd nothing[kLaunchDescriptors];
  if (has_descriptors) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(kLaunchDescriptors * sizeof(int));
    for (size_t i = 0; i < kLaunchDescriptors; ++i) {
      nothing[i].reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
      const int fd = nothing[i].get();
      std::memcpy(CMSG_DATA(rights) + i * sizeof fd, &fd, sizeof fd);
    }
  }
  ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Acts as a subverted launcher: sends a packet for each request, and then ends.
void PlayLauncher(const UniqueFd& socket, const std::vector<Crafted>& packets) {
  for (const Crafted& packet : packets) {
    Packet question(kMaxLaunchMessage);
    const ssize_t got = ::recv(socket.get(), question.data(), question.size(), 0);
    if (got <= 0) {
      break;
    }
    LaunchHeader asked;
    Require(static_cast<size_t>(got) >= sizeof asked);
    std::memcpy(&asked, question.data(), sizeof asked);
    Packet answer = packet.bytes;
    if (packet.follows_question && answer.size() >= sizeof asked) {
      LaunchHeader header;
      std::memcpy(&header, answer.data(), sizeof header);
      header.number = asked.number;
      header.kind = asked.kind == LaunchKind::kLook    ? LaunchKind::kLooked
                    : asked.kind == LaunchKind::kStart ? LaunchKind::kStarted
                                                       : header.kind;
      std::memcpy(answer.data(), &header, sizeof header);
    }
    SendWithDescriptors(socket.get(), answer, packet.has_descriptors);
    // A valid answer, in case the first was not. The asking end would otherwise wait for one, though in bounded time.
    const LaunchHeader failed{.kind = LaunchKind::kFailed, .stage = LaunchStage::kRequest, .number = asked.number};
    ::send(socket.get(), &failed, sizeof failed, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  ::shutdown(socket.get(), SHUT_RDWR);
}

void AskAHostileLauncher(const std::vector<Crafted>& packets) {
  Pair sockets;
  std::thread launcher([&sockets, &packets] { PlayLauncher(sockets.theirs, packets); });
  {
    LauncherProcess process;
    process.socket = std::move(sockets.ours);
    const auto connection = LauncherConnection::Open(std::move(process)).value();
    for (size_t i = 0; i < kMostPackets; ++i) {
      if (i % 2 == 0) {
        (void)connection->Look(Pid(1)).has_error();
        continue;
      }
      auto started = connection->Start(PeerNumber(1), Pid(1), {"verb=dump"});
      if (started.has_value()) {
        Require(started.value().pidfd.is_open());
        (void)connection->Wait(started.value(), Nanos()).has_value();
        (void)connection->CpuOf(started.value());
        connection->Forget(started.value());
      }
    }
  }
  launcher.join();
}

UniqueFd ListenNowhere() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un unnamed{};
  unnamed.sun_family = AF_UNIX;
  Require(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&unnamed), sizeof(sa_family_t)) == 0);
  Require(::listen(socket.get(), 1) == 0);
  return socket;
}

void CheckAnswer(std::span<const std::byte> answer) {
  const auto header = DecodeLaunchHeader(answer);
  Require(header.has_value());
  switch (header.value().kind) {
    case LaunchKind::kFailed: return Require(answer.size() == sizeof(LaunchHeader));
    case LaunchKind::kLooked: return Require(DecodeLooked(answer).has_value() && answer.size() <= kMaxLooked);
    default: std::abort();  // no client is connected, so it can start nothing
  }
}

void BeAskedByAHostileDaemon(const std::vector<Crafted>& packets) {
  Pair commands;
  Pair door;
  for (const Crafted& packet : packets) {
    SendWithDescriptors(commands.ours.get(), packet.bytes, packet.has_descriptors);
  }
  ::shutdown(commands.ours.get(), SHUT_WR);
  Launcher launcher({std::move(commands.theirs), std::move(door.theirs), ListenNowhere()}, YamaRule::kObeyed);
  launcher.Run();
  launcher.EndAll();
  Packet answer(kMaxLooked + 1);
  for (ssize_t got = 0; (got = ::recv(commands.ours.get(), answer.data(), answer.size(), MSG_DONTWAIT)) > 0;) {
    CheckAnswer(std::span(answer).first(static_cast<size_t>(got)));
  }
}

}  // namespace
}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) {
    const auto packets = ptrace_prof::PacketsFrom({data + 1, size - 1});
    data[0] % 2 == 0 ? ptrace_prof::AskAHostileLauncher(packets) : ptrace_prof::BeAskedByAHostileDaemon(packets);
  }
  return 0;
}
