#include "daemon/collector/sandbox/system_call_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tests/unit/in_child.h"

namespace ptrace_prof {
namespace {

constexpr int kNoFilter = 77;
constexpr int kWorked = 0;

// The errno of `call` (which returns -1 and sets it, as system calls do) under the filter; 0 if it worked.
int Behind(const std::function<long()>& call, TargetAccess access = TargetAccess::kRead) {
  return InChild([&] {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!InstallSystemCallFilter(access)) {
      return kNoFilter;
    }
    return call() < 0 ? errno : kWorked;
  });
}

class SystemCallFilter : public testing::Test {
 protected:
  void SetUp() override {
    if (Behind([] { return 0; }) == kNoFilter) {
      GTEST_SKIP() << "no filter here: a sanitizer build, or a kernel without seccomp";
    }
  }
};

TEST_F(SystemCallFilter, RefusesWhatACollectorHasNoUseFor) {
  EXPECT_EQ(Behind([] { return ::socket(AF_INET, SOCK_STREAM, 0); }), EPERM);
  EXPECT_EQ(Behind([] { return ::fork(); }), EPERM);
  EXPECT_EQ(Behind([] { return ::execl("/bin/true", "true", nullptr); }), EPERM);
  EXPECT_EQ(Behind([] { return ::kill(::getppid(), SIGUSR1); }), EPERM);
  EXPECT_EQ(Behind([] { return ::unlink("/nowhere"); }), EPERM);
  EXPECT_EQ(Behind([] { return ::setsid(); }), EPERM);
  EXPECT_EQ(Behind([] { return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }), EPERM);
}

TEST_F(SystemCallFilter, LetsWhoListsMakeChildrenAndNothingElse) {
  const auto listing = [](const std::function<long()>& call) { return Behind(call, TargetAccess::kList); };
  EXPECT_EQ(listing([]() -> long {
              const pid_t child = ::fork();
              if (child == 0) {
                ::_exit(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && InstallSystemCallFilter(TargetAccess::kRead)
                            ? 0
                            : 1);
              }
              int status = -1;
              return ::waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
            }),
            kWorked);
  EXPECT_EQ(listing([] { return ::socket(AF_UNIX, SOCK_STREAM, 0); }), EPERM);
  EXPECT_EQ(listing([] { return ::execl("/bin/true", "true", nullptr); }), EPERM);
  EXPECT_EQ(listing([] { return ::kill(::getppid(), SIGUSR1); }), EPERM);
  EXPECT_EQ(listing([] { return ::open("/dev/null", O_RDWR); }), EPERM);
  EXPECT_EQ(listing([] { return ::process_vm_writev(::getpid(), nullptr, 0, nullptr, 0, 0); }), EPERM);
  EXPECT_EQ(listing([] { return ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); }), EPERM);
}

TEST_F(SystemCallFilter, IsRequiredWhereOneIsOnAlready) {
  const auto require = [] { return RequireSystemCallFilter(TargetAccess::kRead).has_error() ? 1 : 0; };
  EXPECT_EQ(InChild([&] {
              ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
              return require();
            }),
            0);
  // Under the filter no other one can be installed.
  EXPECT_EQ(Behind([&]() -> long { return require() == 1 ? 0 : -1; }), kWorked);
  EXPECT_EQ(Behind([&]() -> long { return require() == 1 ? 0 : -1; }, TargetAccess::kWrite), kWorked);
}

TEST_F(SystemCallFilter, OpensNothingForWriting) {
  EXPECT_EQ(Behind([] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }), kWorked);
  EXPECT_EQ(Behind([] { return ::open("/dev/null", O_WRONLY); }), EPERM);
  EXPECT_EQ(Behind([] { return ::open("/dev/null", O_RDWR); }), EPERM);
  EXPECT_EQ(Behind([] { return ::open("/nowhere/x", O_RDONLY | O_CREAT, 0600); }), EPERM);
  EXPECT_EQ(Behind([] { return ::open("/dev/null", O_RDONLY | O_TRUNC); }), EPERM);
}

TEST_F(SystemCallFilter, OpensNothingByACallWhoseArgumentsItCannotSee) {
  for (const int flags : {O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_PATH}) {
    EXPECT_EQ(Behind([flags]() -> long {
                open_how how{};
                how.flags = static_cast<uint64_t>(flags);
                how.mode = (flags & O_CREAT) != 0 ? 0600 : 0;
                return ::syscall(SYS_openat2, AT_FDCWD, "/dev/null", &how, sizeof how);
              }),
              ENOSYS);
  }
}

TEST_F(SystemCallFilter, MakesNoMemoryExecutable) {
  const auto map = [](int protection) {
    return [protection]() -> long {
      return ::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
    };
  };
  EXPECT_EQ(Behind(map(PROT_READ | PROT_WRITE)), kWorked);
  EXPECT_EQ(Behind(map(PROT_READ | PROT_EXEC)), EPERM);
}

TEST_F(SystemCallFilter, ReadsTargetsAndWritesThemOnlyToTrace) {
  char here = 'x';
  char there = 'y';
  const iovec local{&here, 1};
  const iovec remote{&there, 1};
  EXPECT_EQ(Behind([&] { return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0); }), kWorked);
  EXPECT_EQ(Behind([&] { return ::process_vm_writev(::getpid(), &local, 1, &remote, 1, 0); }), EPERM);
  EXPECT_EQ(Behind([&] { return ::process_vm_writev(::getpid(), &local, 1, &remote, 1, 0); }, TargetAccess::kWrite),
            kWorked);
  EXPECT_EQ(Behind([] { return ::ptrace(PTRACE_INTERRUPT, 1, nullptr, nullptr); }), ESRCH) << "asked the kernel";
  EXPECT_EQ(Behind([] { return ::ptrace(PTRACE_POKEDATA, 1, nullptr, nullptr); }), EPERM);
  EXPECT_EQ(Behind([] { return ::ptrace(PTRACE_POKEDATA, 1, nullptr, nullptr); }, TargetAccess::kWrite), ESRCH);
  EXPECT_EQ(Behind([] { return ::ptrace(PTRACE_SETREGSET, 1, nullptr, nullptr); }, TargetAccess::kWrite), EPERM);
  EXPECT_EQ(Behind([] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }), EPERM);
}

TEST_F(SystemCallFilter, LetsUsAskAndAbort) {
  EXPECT_EQ(Behind([] { return ::kill(::getpid(), 0); }), kWorked);
  EXPECT_EQ(Behind([]() -> long { ::abort(); }), -1) << "a failed assertion must end us";
}

}  // namespace
}  // namespace ptrace_prof
