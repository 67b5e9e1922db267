#include "attach/proc/program_mark.h"

#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>

#include "attach/proc/process_memory.h"
#include "tests/unit/attach_child.h"

namespace ptrace_prof {
namespace {

TEST(ProgramMark, IsTheRandomBytesOfTheKernel) {
  ProcessMemory own{Pid(::getpid())};
  const ProgramMark mark = ProgramMark::Read(Pid(::getpid()), own);
  ASSERT_TRUE(mark.is_known());
  uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(::getauxval(AT_RANDOM)), sizeof word);
  EXPECT_EQ(mark.word, word);
}

// A shell that prints "1", waits for a line, executes the same shell again and prints "2".
constexpr const char* kTwoLives = "echo 1; read line; exec /bin/sh -c 'echo 2; read line'";

TEST(ProgramMark, ChangesWithExecOfTheSameFile) {
  int to_shell[2];
  int from_shell[2];
  ASSERT_EQ(::pipe(to_shell), 0);
  ASSERT_EQ(::pipe(from_shell), 0);
  const UniqueFd in(to_shell[0]), to(to_shell[1]), from(from_shell[0]), out(from_shell[1]);
  const Child shell([&](auto) {
    ::dup2(in.get(), STDIN_FILENO);
    ::dup2(out.get(), STDOUT_FILENO);
    ::execl("/bin/sh", "sh", "-c", kTwoLives, nullptr);
  });
  ProcessMemory memory(shell.pid());
  char said[2] = {};
  ASSERT_EQ(::read(from.get(), said, sizeof said), 2);
  const ProgramMark first = ProgramMark::Read(shell.pid(), memory);
  EXPECT_EQ(ProgramMark::Read(shell.pid(), memory).word, first.word);
  ASSERT_EQ(::write(to.get(), "\n", 1), 1);
  ASSERT_EQ(::read(from.get(), said, sizeof said), 2);
  ASSERT_EQ(said[0], '2');
  const ProgramMark second = ProgramMark::Read(shell.pid(), memory);
  ASSERT_TRUE(first.is_known() && second.is_known());
  EXPECT_NE(first.word, second.word);
}

TEST(ProgramMark, IsNotKnownOfAProcessThatEnded) {
  Pid ended;
  {
    const Child child([](auto say) { say(1); });
    ASSERT_EQ(child.Hear(), 1U);
    ended = child.pid();
  }
  ProcessMemory memory(ended);
  EXPECT_FALSE(ProgramMark::Read(ended, memory).is_known());
}

}  // namespace
}  // namespace ptrace_prof
