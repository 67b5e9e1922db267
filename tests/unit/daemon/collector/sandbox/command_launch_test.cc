#include "daemon/collector/sandbox/command_launch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/base/unique_fd.h"

namespace ptrace_prof {
namespace {

class CommandLaunch : public testing::Test {
 protected:
  void SetUp() override {
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    parent_.reset(fds[0]);
    collector_.reset(fds[1]);
  }
  void Send(std::string_view text) {
    ASSERT_EQ(::write(collector_.get(), text.data(), text.size()), ssize_t(text.size()));
  }

  UniqueFd parent_;
  UniqueFd collector_;
};

TEST_F(CommandLaunch, ReportsThePid) {
  const Pid pid = LaunchCommand({"sh", "-c", "exit 7"}, collector_.get()).value();
  EXPECT_EQ(ReceiveLaunchReport(parent_.get()).value(), pid);
  int status = 0;
  ASSERT_EQ(::waitpid(pid.value, &status, 0), pid.value) << "a child, and not reaped";
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(CommandLaunch, ReportsWhyNot) {
  EXPECT_TRUE(LaunchCommand({"/nowhere/program"}, collector_.get()).has_error());
  EXPECT_EQ(ReceiveLaunchReport(parent_.get()).error().code, Code::kNotFound);
  EXPECT_TRUE(LaunchCommand({"/etc/passwd"}, collector_.get()).has_error());
  EXPECT_EQ(ReceiveLaunchReport(parent_.get()).error().code, Code::kPermissionDenied);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST_F(CommandLaunch, CollectorThatDiesIsNoReport) {
  collector_.reset();
  EXPECT_EQ(ReceiveLaunchReport(parent_.get()).error().reason, Reason::kCollectorFailed);
}

TEST_F(CommandLaunch, UnknownReportsAreBounded) {
  Send(std::string(1000, 'x'));
  EXPECT_EQ(ReceiveLaunchReport(parent_.get()).error().code, Code::kInternal);
}

TEST_F(CommandLaunch, UnknownWordsAreRefused) {
  for (const char* words : {"started 0\n", "started -5\n", "hello\n", "\n"}) {
    Send(words);
    EXPECT_EQ(ReceiveLaunchReport(parent_.get()).error().code, Code::kInternal) << words;
  }
}

}  // namespace
}  // namespace ptrace_prof
