#include "daemon/launcher/launcher_rights.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tests/unit/system_call_tries.h"

namespace ptrace_prof {
namespace {

class NarrowedSystemCalls : public testing::Test {
 protected:
  void SetUp() override {
    if (Behind([] { return 0; }) == kNoFilter) {
      GTEST_SKIP() << "no filter here: a sanitizer build, or a kernel without seccomp";
    }
  }
  static int Behind(const std::function<long()>& call) { return TryBehind(NarrowSystemCalls, call); }
};

TEST_F(NarrowedSystemCalls, RefuseWhatNeitherItNorCollectorsNeed) {
  for (const Try& one : DeniedTries()) {
    EXPECT_EQ(Behind(one.call), EPERM) << one.name;
  }
  EXPECT_EQ(Behind([] { return ::socket(AF_INET, SOCK_STREAM, 0); }), EPERM);
  EXPECT_EQ(Behind([] { return ::listen(-1, 1); }), EPERM);
  EXPECT_EQ(Behind([] { return ::bind(-1, nullptr, 0); }), EPERM);
  EXPECT_EQ(Behind([] { return ::syscall(SYS_kcmp, ::getpid(), ::getpid(), 0, 0, 0); }), EPERM);
}

TEST_F(NarrowedSystemCalls, LetProgramsBeStarted) {
  EXPECT_EQ(Behind([]() -> long {
              const pid_t child = ::fork();
              if (child == 0) {
                ::execl("/bin/true", "true", nullptr);
                ::_exit(1);
              }
              int status = -1;
              return ::waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
            }),
            kWorked);
}

}  // namespace
}  // namespace ptrace_prof
