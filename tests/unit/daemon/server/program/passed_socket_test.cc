// Sockets that a service manager passes: which fit, and how the others are refused.

#include "daemon/server/program/passed_socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace ptrace_prof {
namespace {

constexpr char kName[] = "pp-passed-socket-test";

UniqueFd Bound(int type) {
  UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = kName + std::to_string(::getpid());
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  return socket;
}

void ExpectRefused(int fd, const std::string& words) {
  const auto examined = ExaminePassedSocket(fd, "front");
  ASSERT_TRUE(examined.has_error()) << words;
  EXPECT_EQ(examined.error().code, Code::kFailedPrecondition);
  EXPECT_NE(examined.error().message.find(words), std::string::npos) << examined.error().message;
  EXPECT_NE(examined.error().message.find("front"), std::string::npos) << examined.error().message;
  EXPECT_NE(examined.error().remedy.find("ListenStream="), std::string::npos);
}

TEST(PassedSocket, OneThatListensFits) {
  const UniqueFd socket = Bound(SOCK_STREAM);
  ASSERT_EQ(::listen(socket.get(), 1), 0);
  EXPECT_EQ(ExaminePassedSocket(socket.get(), "").value(), "@" + (kName + std::to_string(::getpid())));
}

TEST(PassedSocket, OthersDoNot) {
  const UniqueFd silent = Bound(SOCK_STREAM);
  ExpectRefused(silent.get(), "is not listening");
  const UniqueFd datagram(::socket(AF_UNIX, SOCK_DGRAM, 0));
  ExpectRefused(datagram.get(), "not a stream socket");
  const UniqueFd network(::socket(AF_INET, SOCK_STREAM, 0));
  ExpectRefused(network.get(), "not a Unix socket");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd pipe(ends[0]);
  const UniqueFd other(ends[1]);
  ExpectRefused(pipe.get(), "is not a socket");
  ExpectRefused(1 << 20, "is not open");
}

TEST(PassedSocket, IsForWhomItSays) {
  for (const char* pid : {"1", "", "x"}) {
    ::setenv("LISTEN_FDS", "1", 1);
    ::setenv("LISTEN_PID", pid, 1);
    const auto taken = TakePassedSocket();
    ASSERT_TRUE(taken.has_value()) << pid;
    EXPECT_FALSE(taken.value().has_value()) << pid;
    EXPECT_EQ(::getenv("LISTEN_FDS"), nullptr) << "no child of ours shall take it for its own";
  }
}

TEST(PassedSocket, ThereIsOne) {
  for (const char* count : {"2", "1000000", "-1", "many"}) {
    ::setenv("LISTEN_FDS", count, 1);
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDNAMES", "front:back", 1);
    const auto taken = TakePassedSocket();
    ASSERT_TRUE(taken.has_error()) << count;
    EXPECT_NE(taken.error().message.find("front:back"), std::string::npos);
  }
}

}  // namespace
}  // namespace ptrace_prof
