// The launcher as the daemon knows it: a process at the other end of a LauncherConnection, starting this very program.

#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <thread>

#include "daemon/launcher/launcher_process.h"
#include "daemon/session/launcher_connection.h"
#include "tests/unit/in_child.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kLong = Nanos::FromSeconds(60);

CallerIdentity Myself() { return {Uid(::getuid()), Gid(::getgid()), {}}; }

std::string ReadSome(int fd) {
  char buffer[512];
  const ssize_t got = ::read(fd, buffer, sizeof buffer);
  return {buffer, got > 0 ? static_cast<size_t>(got) : 0};
}

bool HasEnded(int pidfd, int timeout_ms = 60'000) {
  pollfd ended{pidfd, POLLIN, 0};
  return ::poll(&ended, 1, timeout_ms) == 1;
}

int CountDescriptors() {
  int count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) {
    ++count;
  }
  ::closedir(folder);
  return count;
}

class Launching : public testing::Test {
 protected:
  void SetUp() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    auto forked = ForkLauncher();
    ASSERT_TRUE(forked.has_value());
    launcher_pid_ = forked.value().pid.value;
    connection_ = std::make_unique<LauncherConnection>(std::move(forked).value());
  }

  LauncherConnection::Started Start(const char* action) {
    auto started = connection_->Start(Myself(), {action});
    EXPECT_TRUE(started.has_value()) << started.error().message;
    return std::move(started).value();
  }

  void KillLauncher() {
    ::kill(launcher_pid_, SIGKILL);
    ::waitpid(launcher_pid_, nullptr, 0);
    while (connection_->is_up()) {
      std::this_thread::yield();
    }
  }

  pid_t launcher_pid_ = -1;
  std::unique_ptr<LauncherConnection> connection_;
};

TEST_F(Launching, RunsOurProgramAndSaysHowItEnded) {
  const auto collector = Start("do=describe");
  const std::string text = ReadSome(collector.stream.get());
  EXPECT_NE(text.find("uid=" + std::to_string(::getuid()) + " "), std::string::npos) << text;
  EXPECT_NE(text.find(" descriptors=5 "), std::string::npos) << "0, 1, 2, the stream, the control line: " << text;
  EXPECT_TRUE(text.ends_with("home=")) << "the daemon's environment is not the collector's: " << text;
  const auto status = connection_->Wait(collector, kLong);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(WEXITSTATUS(*status), 7);
}

TEST_F(Launching, EndOfTheControlLineStops) {
  auto collector = Start("do=wait");
  EXPECT_EQ(ReadSome(collector.stream.get()), "up");
  EXPECT_FALSE(connection_->Wait(collector, Nanos()).has_value());
  collector.control.reset();
  EXPECT_EQ(WEXITSTATUS(connection_->Wait(collector, kLong).value_or(0)), 5);
}

TEST_F(Launching, Kills) {
  const auto collector = Start("do=nothing");
  connection_->Kill(collector);
  EXPECT_EQ(WTERMSIG(connection_->Wait(collector, kLong).value_or(0)), SIGKILL);
}

TEST_F(Launching, RefusesWhatIsNoArgument) {
  auto refused = connection_->Start(Myself(), {"--", "sh"});
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
}

TEST_F(Launching, EndsWithTheConnectionAndTakesAllCollectorsAlong) {
  const auto obedient = Start("do=wait");
  const auto stubborn = Start("do=nothing");
  const UniqueFd launcher(static_cast<int>(::syscall(SYS_pidfd_open, launcher_pid_, 0)));
  connection_.reset();
  EXPECT_TRUE(HasEnded(obedient.pidfd.get()));
  EXPECT_TRUE(HasEnded(stubborn.pidfd.get()));
  EXPECT_TRUE(HasEnded(launcher.get()));
}

TEST_F(Launching, CollectorsGoOnWhenTheLauncherIsKilled) {
  auto collector = Start("do=wait");
  KillLauncher();
  EXPECT_FALSE(connection_->Wait(collector, Nanos::FromMillis(1)).has_value());
  const auto next = connection_->Start(Myself(), {"do=wait"});
  ASSERT_TRUE(next.has_error());
  EXPECT_EQ(next.error().code, Code::kUnavailable);
  EXPECT_NE(next.error().remedy.find("restart ptrace-profd"), std::string::npos);
  collector.control.reset();
  EXPECT_EQ(WEXITSTATUS(connection_->Wait(collector, kLong).value_or(0)), 5) << "we are its reaper now";
}

TEST_F(Launching, FromManyThreadsWithoutLeavingAnything) {
  connection_->Wait(Start("do=describe"), kLong);
  const int before = CountDescriptors();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int n = 0; n < 25; ++n) {
        auto collector = Start(n % 2 == 0 ? "do=wait" : "do=describe");
        collector.control.reset();
        EXPECT_EQ(WEXITSTATUS(connection_->Wait(collector, kLong).value_or(0)), n % 2 == 0 ? 5 : 7);
        connection_->Forget(collector);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(CountDescriptors(), before);
}

TEST_F(Launching, RootStartsThemAsTheCaller) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "only root can become somebody else";
  }
  auto started = connection_->Start({Uid(12345), Gid(23456), {Gid(4), Gid(27)}}, {"do=describe"});
  ASSERT_TRUE(started.has_value()) << started.error().message;
  const std::string text = ReadSome(started.value().stream.get());
  EXPECT_TRUE(text.starts_with("uid=12345 gid=23456 groups=4,27, ")) << text;
  connection_->Wait(started.value(), kLong);
}

TEST(Launcher, AnOrdinaryUserCannotBecomeAnother) {
  EXPECT_EQ(InChild([] {
              if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) {
                return 2;
              }
              auto forked = ForkLauncher();
              LauncherConnection connection(std::move(forked).value());
              const auto refused = connection.Start({Uid(::getuid() + 1), Gid(0), {}}, {"do=wait"});
              return refused.has_error() && refused.error().code == Code::kPermissionDenied ? 0 : 1;
            }),
            0);
}

TEST(Launcher, EndsWhenItIsSentNonsense) {
  auto forked = ForkLauncher();
  ASSERT_TRUE(forked.has_value());
  const LauncherProcess launcher = std::move(forked).value();
  EXPECT_EQ(::send(launcher.socket.get(), "nonsense", 8, 0), 8);
  EXPECT_EQ(::waitpid(launcher.pid.value, nullptr, 0), launcher.pid.value);
}

TEST(Launcher, RefusesABadRequestAndGoesOn) {
  auto forked = ForkLauncher();
  ASSERT_TRUE(forked.has_value());
  const LauncherProcess launcher = std::move(forked).value();
  for (uint64_t number = 1; number <= 2; ++number) {
    const LaunchHeader request{.kind = LaunchKind::kStart, .number = number, .arguments = 3};
    ASSERT_EQ(::send(launcher.socket.get(), &request, sizeof request, 0), static_cast<ssize_t>(sizeof request));
    LaunchHeader answer;
    ASSERT_EQ(::recv(launcher.socket.get(), &answer, sizeof answer, 0), static_cast<ssize_t>(sizeof answer));
    EXPECT_EQ(answer.kind, LaunchKind::kFailed);
    EXPECT_EQ(answer.stage, LaunchStage::kRequest);
    EXPECT_EQ(answer.number, number);
  }
  ::shutdown(launcher.socket.get(), SHUT_RDWR);
  EXPECT_EQ(::waitpid(launcher.pid.value, nullptr, 0), launcher.pid.value);
}

}  // namespace
}  // namespace ptrace_prof
