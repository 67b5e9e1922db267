#include "daemon/server/program/system_call_wall.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "tests/unit/in_child.h"
#include "tests/unit/system_call_tries.h"

namespace ptrace_prof {
namespace {

class SystemCallWall : public testing::Test {
 protected:
  void SetUp() override {
    if (TryBehind(RaiseSystemCallWall, [] { return 0; }) == kNoFilter) {
      GTEST_SKIP() << "no filter here: a sanitizer build, or a kernel without seccomp";
    }
  }
  static int Behind(const std::function<long()>& call) { return TryBehind(RaiseSystemCallWall, call); }
};

TEST_F(SystemCallWall, RefusesOtherProcessesProgramsAndUsers) {
  char here = 'x';
  const iovec bytes{&here, 1};
  EXPECT_EQ(Behind([&] { return ::process_vm_readv(::getpid(), &bytes, 1, &bytes, 1, 0); }), EPERM);
  EXPECT_EQ(Behind([&] { return ::process_vm_writev(::getpid(), &bytes, 1, &bytes, 1, 0); }), EPERM);
  EXPECT_EQ(Behind([] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }), EPERM);
  EXPECT_EQ(Behind([] { return ::syscall(SYS_pidfd_getfd, -1, 0, 0); }), EPERM);
  EXPECT_EQ(Behind([] { return ::syscall(SYS_kcmp, ::getpid(), ::getpid(), 0, 0, 0); }), EPERM);
  EXPECT_EQ(Behind([] { return ::execl("/bin/true", "true", nullptr); }), EPERM);
  EXPECT_EQ(Behind([] { return ::setuid(::getuid()); }), EPERM);
}

TEST_F(SystemCallWall, RefusesWhatNoProcessOfOursNeeds) {
  for (const Try& one : DeniedTries()) {
    EXPECT_EQ(Behind(one.call), EPERM) << one.name;
  }
  EXPECT_EQ(Behind([] { return ::socket(AF_NETLINK, SOCK_RAW, 0); }), EPERM);
  EXPECT_EQ(Behind([] { return ::socket(AF_PACKET, SOCK_RAW, 0); }), EPERM);
}

TEST_F(SystemCallWall, LetsTheDaemonServe) {
  EXPECT_EQ(Behind([] { return ::socket(AF_UNIX, SOCK_STREAM, 0); }), kWorked);
  EXPECT_EQ(Behind([] { return ::socket(AF_INET, SOCK_STREAM, 0); }), kWorked);
  EXPECT_EQ(Behind([] { return ::open("/dev/null", O_RDWR | O_CLOEXEC); }), kWorked);
  EXPECT_EQ(Behind([] {
              long answer = -1;
              std::thread([&] { answer = ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) < 0 ? 0 : -1; }).join();
              return answer;
            }),
            kWorked)
      << "a thread that is started later is behind it too";
}

}  // namespace
}  // namespace ptrace_prof
