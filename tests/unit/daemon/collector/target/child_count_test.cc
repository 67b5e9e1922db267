// Counts real children.
#include "daemon/collector/target/child_count.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ptrace_prof {
namespace {

class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  const pid_t pid_;
};

TEST(ChildCount, CountsEachOnce) {
  ChildCount count((Pid(::getpid())));
  count.Look(MonotonicNow());
  EXPECT_EQ(count.count(), 0U);
  const Nanos far = Nanos::FromSeconds(3600);
  {
    const Child first;
    const Child second;
    count.Look(MonotonicNow() + far);
    EXPECT_EQ(count.count(), 2U);
    count.Look(MonotonicNow() + far + far);
    EXPECT_EQ(count.count(), 2U);
  }
  const Child third;
  count.Look(MonotonicNow() + far + far + far);
  EXPECT_EQ(count.count(), 3U);
}

TEST(ChildCount, OfNobody) {
  ChildCount count(Pid(4'194'303));
  count.Look(MonotonicNow());
  EXPECT_EQ(count.count(), 0U);
}

}  // namespace
}  // namespace ptrace_prof
