// Our own environment, read from our memory as if it were another process's.
#include "daemon/collector/inspect/libc_environ.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "attach/proc/process_memory.h"
#include "attach/proc/procfs.h"

extern "C" char** environ;

namespace ptrace_prof {
namespace {

std::optional<std::vector<std::string>> ReadOurs(LibcEnviron& reader) {
  const Pid self(::getpid());
  ProcessMemory memory(self);
  const auto regions = ReadMaps(self);
  const auto executable = ReadExecutableId(self);
  const uint64_t device = executable.value().device;
  return reader.Read(memory, regions.value(), {major(device), minor(device), executable.value().inode});
}

bool Has(const std::vector<std::string>& variables, const std::string& variable) {
  return std::ranges::find(variables, variable) != variables.end();
}

TEST(LibcEnviron, SeesWhatWasSetAfterTheStart) {
  LibcEnviron reader;
  ASSERT_TRUE(ReadOurs(reader).has_value());
  ::setenv("PP_TEST_RANK", "17", 1);
  for (int i = 0; i < 2; ++i) {  // found, and found again by the remembered place
    const auto variables = ReadOurs(reader);
    ASSERT_TRUE(variables.has_value());
    EXPECT_TRUE(Has(*variables, "PP_TEST_RANK=17"));
    EXPECT_GT(variables->size(), 1u);
  }
  ::unsetenv("PP_TEST_RANK");
  EXPECT_FALSE(Has(*ReadOurs(reader), "PP_TEST_RANK=17"));
}

// Replaces our environment by `variables` for one read.
std::optional<std::vector<std::string>> ReadWith(std::vector<char*> variables) {
  LibcEnviron reader;
  variables.push_back(nullptr);
  char** const before = environ;
  environ = variables.data();
  auto seen = ReadOurs(reader);
  environ = before;
  return seen;
}

TEST(LibcEnviron, BadPointersCostOnlyThemselves) {
  char good[] = "RANK=1";
  const auto seen = ReadWith({reinterpret_cast<char*>(8), good, reinterpret_cast<char*>(-8L), good});
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(*seen, (std::vector<std::string>{"RANK=1", "RANK=1"}));
}

TEST(LibcEnviron, LongAndCrossingStrings) {
  std::string page(3 * 4096, 'x');
  char* const edge = page.data() + (4096 - reinterpret_cast<uintptr_t>(page.data()) % 4096) + 4096;
  std::memcpy(edge - 4, "A=12345", 8);  // half in one page, half in the next
  std::string long_one = "B=" + std::string(1000, 'y');
  const auto seen = ReadWith({edge - 4, long_one.data()});
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(*seen, std::vector<std::string>{"A=12345"}) << "what is too long is left out";
}

TEST(LibcEnviron, AnEndlessListIsCut) {
  char good[] = "A=1";
  const auto seen = ReadWith(std::vector<char*>(100'000, good));
  ASSERT_TRUE(seen.has_value());
  EXPECT_GE(seen->size(), 4096u);
  EXPECT_LT(seen->size(), 4096u + 512u);
}

}  // namespace
}  // namespace ptrace_prof
