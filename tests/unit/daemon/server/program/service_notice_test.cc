// Notifications to a service manager, over a socket of the test's own.

#include "daemon/server/program/service_notice.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace ptrace_prof {
namespace {

class Notice : public testing::Test {
 protected:
  void SetUp() override {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data(), name_.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
    ASSERT_EQ(::bind(manager_.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    ::setenv("NOTIFY_SOCKET", ("@" + name_).c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
      ::unsetenv(name);
    }
  }
  // What has arrived; empty: nothing.
  std::string Heard() const {
    char text[1000];
    const ssize_t got = ::recv(manager_.get(), text, sizeof text, MSG_DONTWAIT);
    return got < 0 ? "" : std::string(text, static_cast<size_t>(got));
  }

  const std::string name_ = "pp-notice-test-" + std::to_string(::getpid());
  const UniqueFd manager_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST_F(Notice, ReportsOfEachStage) {
  ServiceNotice notice;
  EXPECT_FALSE(notice.trouble().has_value());
  notice.Starting("reading", Nanos::FromSeconds(2));
  EXPECT_EQ(Heard(), "EXTEND_TIMEOUT_USEC=2000000\nSTATUS=reading");
  notice.Ready("listening");
  EXPECT_EQ(Heard(), "READY=1\nSTATUS=listening");
  notice.Stopping("ending", Nanos::FromSeconds(3));
  EXPECT_EQ(Heard(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=3000000\nSTATUS=ending");
}

TEST_F(Notice, ATextCannotPretendToBeMore) {
  ServiceNotice notice;
  notice.Status("a\nREADY=1");
  EXPECT_EQ(Heard(), "STATUS=a READY=1");
}

TEST_F(Notice, ItsVariablesAreGone) {
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  const ServiceNotice notice;
  EXPECT_EQ(notice.alive_every(), Nanos::FromSeconds(1));
  EXPECT_EQ(::getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(::getenv("WATCHDOG_USEC"), nullptr);
  EXPECT_EQ(::getenv("WATCHDOG_PID"), nullptr);
}

TEST_F(Notice, SignsOfLifeAreForWhomTheyAreAskedOf) {
  for (const auto& [period, pid] :
       {std::pair("3000000", "1"), std::pair("0", ""), std::pair("soon", ""), std::pair("-5", "")}) {
    ::setenv("NOTIFY_SOCKET", ("@" + name_).c_str(), 1);
    ::setenv("WATCHDOG_USEC", period, 1);
    *pid == '\0' ? ::unsetenv("WATCHDOG_PID") : ::setenv("WATCHDOG_PID", pid, 1);
    EXPECT_FALSE(ServiceNotice().alive_every().has_value()) << period;
  }
}

TEST_F(Notice, NobodyThereIsSaid) {
  for (const char* address : {"@pp-nobody-is-there", "vsock:2:1234", "relative"}) {
    ::setenv("NOTIFY_SOCKET", address, 1);
    ServiceNotice notice;
    ASSERT_TRUE(notice.trouble().has_value()) << address;
    EXPECT_NE(notice.trouble()->message.find(address), std::string::npos);
    notice.Ready("to nobody");
  }
  ServiceNotice none;  // no variable: not an error
  EXPECT_FALSE(none.trouble().has_value());
  none.Ready("to nobody");
  EXPECT_EQ(Heard(), "");
}

}  // namespace
}  // namespace ptrace_prof
