// The launcher as the daemon uses it: a process at the other end of a LauncherConnection, which starts this very
// program.

#include "daemon/server/captures/launcher_connection.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <thread>

#include "daemon/launcher/launcher_process.h"
#include "daemon/server/captures/launcher_door.h"
#include "tests/unit/count_descriptors.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kLong = Nanos::FromSeconds(60);

std::string ReadSome(int fd) {
  char buffer[512];
  const ssize_t got = ::read(fd, buffer, sizeof buffer);
  return {buffer, got > 0 ? static_cast<size_t>(got) : 0};
}

bool HasEnded(int pidfd, int timeout_ms = 60'000) {
  pollfd ended{pidfd, POLLIN, 0};
  return ::poll(&ended, 1, timeout_ms) == 1;
}

// A listening socket without a name in any folder, and connections to it.
class Entrance {
 public:
  Entrance() : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sun_family = AF_UNIX;
    EXPECT_EQ(::bind(socket_.get(), Generic(), sizeof(sa_family_t)), 0);  // the kernel chooses an abstract name
    size_ = sizeof address_;
    EXPECT_EQ(::getsockname(socket_.get(), Generic(), &size_), 0);
    EXPECT_EQ(::listen(socket_.get(), 8), 0);
  }
  const UniqueFd& socket() const { return socket_; }
  UniqueFd Connect() const {
    UniqueFd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return ::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address_), size_) == 0 ? std::move(connection)
                                                                                                 : UniqueFd();
  }

 private:
  sockaddr* Generic() { return reinterpret_cast<sockaddr*>(&address_); }
  UniqueFd socket_;
  sockaddr_un address_{};
  socklen_t size_ = 0;
};

LauncherDoor::Arrival TakeArrival(LauncherDoor& door) {
  for (;;) {
    pollfd readable{door.fd(), POLLIN, 0};
    ::poll(&readable, 1, -1);
    if (auto arrival = door.Take(); arrival.has_value()) {
      return std::move(*arrival);
    }
    EXPECT_FALSE(door.has_closed());
  }
}

// How a child arrives that connects after `become` and lives until the launcher has examined it.
LauncherDoor::Arrival ArrivalOf(const Entrance& entrance, LauncherDoor& door, const std::function<bool()>& become) {
  int line[2];
  EXPECT_EQ(::pipe2(line, O_CLOEXEC), 0);
  const UniqueFd read_end(line[0]);
  UniqueFd write_end(line[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(line[1]);
    const UniqueFd connection = become() ? entrance.Connect() : UniqueFd();
    char byte = 0;
    (void)!::read(line[0], &byte, 1);
    ::_exit(connection.is_open() ? 0 : 1);
  }
  LauncherDoor::Arrival arrival = TakeArrival(door);
  write_end.reset();
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(arrival.pid, Pid(child));
  return arrival;
}

class Launching : public testing::Test {
 protected:
  void SetUp() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    auto forked = ForkLauncher(entrance_.socket());
    ASSERT_TRUE(forked.has_value());
    launcher_pid_ = forked.value().pid.value;
    door_ = std::make_unique<LauncherDoor>(std::move(forked.value().door));
    connection_ = LauncherConnection::Open(std::move(forked).value()).value();
    const UniqueFd mine = entrance_.Connect();
    const auto arrival = TakeArrival(*door_);
    ASSERT_FALSE(arrival.verdict.has_error()) << arrival.verdict.error().message;
    EXPECT_EQ(arrival.pid, Pid(::getpid()));
    EXPECT_EQ(arrival.who.uid, Uid(::getuid()));
    myself_ = arrival.number;
  }

  LauncherConnection::Started Start(const char* action) {
    auto started = connection_->Start(myself_, Pid(), {action});
    EXPECT_TRUE(started.has_value()) << started.error().message;
    return std::move(started).value();
  }

  std::string Described(PeerNumber peer, Pid target) {
    auto started = connection_->Start(peer, target, {"do=describe"});
    EXPECT_TRUE(started.has_value()) << started.error().message;
    std::string text = ReadSome(started.value().stream.get());
    connection_->Wait(started.value(), kLong);
    return text;
  }

  void KillLauncher() {
    ::kill(launcher_pid_, SIGKILL);
    ::waitpid(launcher_pid_, nullptr, 0);
    while (connection_->is_up()) {
      std::this_thread::yield();
    }
  }

  const Entrance entrance_;
  pid_t launcher_pid_ = -1;
  PeerNumber myself_;
  std::unique_ptr<LauncherDoor> door_;
  std::shared_ptr<LauncherConnection> connection_;
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

TEST_F(Launching, ReportsWhatAProcessIs) {
  const auto facts = connection_->Look(Pid(::getpid()));
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  EXPECT_EQ(facts.value().owner, Uid(::getuid()));
  EXPECT_EQ(facts.value().command, "daemon_launcher");  // of 15 characters
  EXPECT_TRUE(facts.value().program.ends_with("/daemon_launcher_test")) << facts.value().program;
  EXPECT_NE(facts.value().cgroup.find(":/"), std::string::npos) << facts.value().cgroup;
  EXPECT_EQ(connection_->Look(Pid(INT32_MAX)).error().code, Code::kGone);
  KillLauncher();
  EXPECT_EQ(connection_->Look(Pid(::getpid())).error().code, Code::kUnavailable);
}

TEST_F(Launching, Kills) {
  const auto collector = Start("do=nothing");
  connection_->Kill(collector);
  EXPECT_EQ(WTERMSIG(connection_->Wait(collector, kLong).value_or(0)), SIGKILL);
}

TEST_F(Launching, RefusesWhatIsNoArgument) {
  auto refused = connection_->Start(myself_, Pid(), {"--", "sh"});
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
  const auto next = connection_->Start(myself_, Pid(), {"do=wait"});
  ASSERT_TRUE(next.has_error());
  EXPECT_EQ(next.error().code, Code::kUnavailable);
  EXPECT_NE(next.error().remedy.find("restart ptrace-profd"), std::string::npos);
  collector.control.reset();
  EXPECT_EQ(WEXITSTATUS(connection_->Wait(collector, kLong).value_or(0)), 5) << "we are its reaper now";
}

TEST_F(Launching, FromManyThreadsWithoutLeavingAnything) {
  connection_->Wait(Start("do=describe"), kLong);
  const size_t before = CountDescriptors();
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

bool Become(uid_t uid, gid_t gid, std::vector<gid_t> groups) {
  return ::setgroups(groups.size(), groups.data()) == 0 && ::setresgid(gid, gid, gid) == 0 &&
         ::setresuid(uid, uid, uid) == 0;
}

TEST_F(Launching, RootStartsThemAsTheCaller) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "only root can become somebody else";
  }
  const auto arrival = ArrivalOf(entrance_, *door_, [] { return Become(12345, 23456, {4, 27}); });
  ASSERT_FALSE(arrival.verdict.has_error()) << arrival.verdict.error().message;
  const std::string text = Described(arrival.number, Pid());
  EXPECT_TRUE(text.starts_with("uid=12345 gid=23456 groups=4,27, capabilities=0 ")) << text;
  EXPECT_TRUE(Described(arrival.number, Pid(::getpid())).starts_with("uid=12345 ")) << "whoever owns the target";
}

TEST_F(Launching, RootStartsThemAsUsersThatWereVouchedForAndNobodyElse) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "only root can become somebody else";
  }
  const auto peer = [](uint32_t uid) { return PeerNumber(VouchedPeer(Uid(uid))); };
  EXPECT_TRUE(connection_->Start(peer(12345), Pid(), {"do=wait"}).has_error()) << "not yet";
  ASSERT_TRUE(connection_
                  ->Vouch({{{Uid(12345), Gid(23456), {Gid(4)}}, false},
                           {{Uid(0), Gid(0), {}}, false},
                           {{Uid(65534), Gid(65534), {}}, false}})
                  .has_value());
  const std::string text = Described(peer(12345), Pid());
  EXPECT_TRUE(text.starts_with("uid=12345 gid=23456 groups=4, capabilities=0 ")) << text;
  for (const uint32_t uid : {0U, 65534U, 12346U}) {
    EXPECT_EQ(connection_->Start(peer(uid), Pid(), {"do=wait"}).error().code, Code::kInvalidArgument) << uid;
  }
  connection_->ForgetPeer(peer(12345));
  EXPECT_TRUE(Described(peer(12345), Pid()).starts_with("uid=12345 ")) << "such a user does not leave";
}

TEST_F(Launching, IsReportedOnceWhomItMayVouchFor) {
  ASSERT_TRUE(connection_->Vouch({}).has_value());
  (void)connection_->Vouch({{{Uid(12345), Gid(12345), {}}, false}}).has_error();
  EXPECT_EQ(::waitpid(launcher_pid_, nullptr, 0), launcher_pid_) << "it ends rather than believe that";
}

TEST_F(Launching, StartsNothingForWhoIsNotConnected) {
  for (const PeerNumber nobody : {PeerNumber(), PeerNumber(myself_.value + 1)}) {
    EXPECT_EQ(connection_->Start(nobody, Pid(), {"do=wait"}).error().code, Code::kInvalidArgument);
  }
  connection_->ForgetPeer(myself_);
  EXPECT_EQ(connection_->Start(myself_, Pid(), {"do=wait"}).error().code, Code::kInvalidArgument);
}

TEST_F(Launching, ForRootTheyAreTheOwnerOfTheTarget) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "only root can become somebody else";
  }
  const auto of_owner = [&](bool dumpable) {
    int line[2];
    EXPECT_EQ(::pipe(line), 0);
    const pid_t owner = ::fork();
    if (owner == 0) {
      const bool is_ready = Become(12345, 23456, {}) && ::prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0) == 0;
      (void)!::write(line[1], is_ready ? "+" : "-", 1);
      ::pause();
    }
    EXPECT_EQ(ReadSome(line[0]), "+");
    ::close(line[0]);
    ::close(line[1]);
    std::string text = Described(myself_, Pid(owner));
    ::kill(owner, SIGKILL);
    ::waitpid(owner, nullptr, 0);
    return text;
  };
  EXPECT_TRUE(of_owner(true).starts_with("uid=12345 gid=23456 groups= capabilities=0 "));
  const std::string guarded = of_owner(false);
  EXPECT_TRUE(guarded.starts_with("uid=12345 gid=23456 groups= capabilities=80000 ") ||
              guarded.starts_with("uid=12345 gid=23456 groups= capabilities=0 "))  // if root itself does not have it
      << guarded;
}

TEST_F(Launching, ARootWithoutCapabilitiesGetsNone) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "only root can become somebody else";
  }
  const auto arrival = ArrivalOf(entrance_, *door_, [] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[2] = {};
    return ::syscall(SYS_capset, &header, none) == 0;
  });
  ASSERT_FALSE(arrival.verdict.has_error()) << arrival.verdict.error().message;
  EXPECT_NE(Described(arrival.number, Pid()).find("uid=0 "), std::string::npos);
  EXPECT_NE(Described(arrival.number, Pid()).find(" capabilities=0 "), std::string::npos);
}

TEST_F(Launching, WhoLivesInAnotherUserNamespaceIsNotLetIn) {
  const auto arrival = ArrivalOf(entrance_, *door_, [] {
    ::unshare(CLONE_NEWUSER);  // where that is forbidden, the test is skipped
    return true;
  });
  if (::access("/proc/self/ns/user", F_OK) != 0 || !arrival.verdict.has_error()) {
    GTEST_SKIP() << "this user may make no user namespace";
  }
  EXPECT_EQ(arrival.verdict.error().code, Code::kUnauthenticated);
  EXPECT_NE(arrival.verdict.error().message.find("user"), std::string::npos);
  EXPECT_EQ(connection_->Start(arrival.number, Pid(), {"do=wait"}).error().code, Code::kInvalidArgument);
}

TEST_F(Launching, NobodyWhoHasNoNumberIsLetIn) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "only root can become somebody else";
  }
  const auto arrival = ArrivalOf(entrance_, *door_, [] { return Become(65534, 65534, {}); });
  ASSERT_TRUE(arrival.verdict.has_error());
  EXPECT_EQ(arrival.verdict.error().code, Code::kUnauthenticated);
  EXPECT_NE(arrival.verdict.error().message.find("without a user ID here (65534)"), std::string::npos);
}

TEST(Launcher, OfAnOrdinaryUserCannotBecomeAnother) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "only root can connect as somebody else";
  }
  const Entrance entrance;
  int line[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, line), 0);
  const pid_t user = ::fork();
  if (user == 0) {
    ::close(line[0]);
    if (!Become(54321, 54321, {})) {
      ::_exit(2);
    }
    auto forked = ForkLauncher(entrance.socket());
    LauncherDoor door(std::move(forked.value().door));
    const auto connection = LauncherConnection::Open(std::move(forked).value()).value();
    (void)!::write(line[1], "+", 1);
    const auto root = TakeArrival(door);
    const auto started = connection->Start(root.number, Pid(), {"do=wait"});
    const bool has_ended = started.has_value() && connection->Wait(started.value(), Nanos::FromSeconds(60)) == 127 << 8;
    const auto why = has_ended ? LauncherConnection::WhyNotStarted(started.value()) : std::nullopt;
    ::_exit(why.has_value() && why->reason == Reason::kCannotBecomeCaller ? 0 : 1);
  }
  ::close(line[1]);
  EXPECT_EQ(ReadSome(line[0]), "+");
  const UniqueFd connection = entrance.Connect();
  int status = 0;
  ::waitpid(user, &status, 0);
  EXPECT_EQ(status, 0);
  ::close(line[0]);
}

TEST(Launcher, EndsWhenItIsSentNonsense) {
  const Entrance entrance;
  auto forked = ForkLauncher(entrance.socket());
  ASSERT_TRUE(forked.has_value());
  const LauncherProcess launcher = std::move(forked).value();
  EXPECT_EQ(::send(launcher.socket.get(), "nonsense", 8, 0), 8);
  EXPECT_EQ(::waitpid(launcher.pid.value, nullptr, 0), launcher.pid.value);
}

TEST(Launcher, RefusesABadRequestAndGoesOn) {
  const Entrance entrance;
  auto forked = ForkLauncher(entrance.socket());
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
