#include "attach/proc/fork_trace.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace ptrace_prof {
namespace {

TEST(ForkTrace, HasThePidOfWhatWasForked) {
  ForkTrace trace;
  EXPECT_FALSE(trace.Take().has_value()) << "from when on is not known";
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(0);
  }
  const auto born = trace.Take();
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(born.has_value());
  EXPECT_LE(born->first, child);
  EXPECT_GE(born->last, child);
}

int WaitForByte(void* ends) {
  char byte = 0;
  return ::read(*static_cast<int*>(ends), &byte, 1) < 0 ? 1 : 0;
}

TEST(HaveOneMemory, ReportsAForkFromAVfork) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  alignas(16) static std::array<std::byte, 65536> stack;
  const pid_t same = ::clone(WaitForByte, stack.data() + stack.size(), CLONE_VM | SIGCHLD, &ends[0]);
  const pid_t other = ::fork();
  if (other == 0) {
    ::_exit(WaitForByte(&ends[0]));
  }
  EXPECT_EQ(HaveOneMemory(Pid(same), Pid(::getpid())), true);
  EXPECT_EQ(HaveOneMemory(Pid(other), Pid(::getpid())), false);
  EXPECT_EQ(::write(ends[1], "..", 2), 2);
  ::waitpid(same, nullptr, 0);
  ::waitpid(other, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace ptrace_prof
