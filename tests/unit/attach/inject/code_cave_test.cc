#include "attach/inject/code_cave.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "attach/proc/process_memory.h"

namespace ptrace_prof {
namespace {

constexpr size_t kCavePage = 4096;

// A page of our own that stands for the last page of an object.
class CodeCaveTest : public testing::Test {
 protected:
  CodeCaveTest()
      : page_(static_cast<char*>(
            ::mmap(nullptr, kCavePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~CodeCaveTest() override { ::munmap(page_, kCavePage); }

  RemoteAddr At(size_t offset) const { return RemoteAddr(reinterpret_cast<uint64_t>(page_) + offset); }
  Result<CodeCave> Borrow(size_t size) {
    return CodeCave::Borrow(Pid(::getpid()), memory_, std::vector<MemoryTail>{{At(1000), kCavePage - 1000}}, size);
  }
  bool IsZero() const {
    return std::all_of(page_, page_ + kCavePage, [](char byte) { return byte == 0; });
  }

  char* page_;
  ProcessMemory memory_{Pid(::getpid())};
};

TEST_F(CodeCaveTest, HoldsATextAndGivesTheBytesBack) {
  {
    Result<CodeCave> cave = Borrow(100);
    ASSERT_TRUE(cave.has_value()) << cave.error().message;
    EXPECT_EQ(cave.value().address(), At(kCavePage - 112));
    ASSERT_TRUE(cave.value().Put("a text").has_value());
    EXPECT_STREQ(page_ + kCavePage - 112, "a text");
    ASSERT_TRUE(cave.value().Put("two").has_value());
    EXPECT_STREQ(page_ + kCavePage - 112, "two");
    EXPECT_TRUE(cave.value().Put(std::string(100, 'x')).has_error());
  }
  EXPECT_TRUE(IsZero());
}

TEST_F(CodeCaveTest, LeavesAloneWhatIsNotZero) {
  std::strcpy(page_ + kCavePage - 50, "left by somebody");
  {
    const Result<CodeCave> cave = Borrow(100);
    ASSERT_TRUE(cave.has_value());
    EXPECT_EQ(cave.value().address(), At(kCavePage - 160));
  }
  for (size_t at = 1000; at < kCavePage; at += 90) {
    page_[at] = 'x';
  }
  const Result<CodeCave> cave = Borrow(100);
  ASSERT_TRUE(cave.has_error());
  EXPECT_EQ(cave.error().reason, Reason::kNoRoomForText);
}

TEST_F(CodeCaveTest, TakesNoMemoryThatCannotBeWritten) {
  ::mprotect(page_, kCavePage, PROT_READ);
  EXPECT_TRUE(Borrow(100).has_error());
}

TEST_F(CodeCaveTest, LeavesAloneWhatAnotherProgramHasPutThere) {
  {
    Result<CodeCave> cave = Borrow(100);
    ASSERT_TRUE(cave.has_value());
    ASSERT_TRUE(cave.value().Put("a text that is long enough").has_value());
    std::strcpy(page_ + kCavePage - 112, "this belongs to somebody");
  }
  EXPECT_STREQ(page_ + kCavePage - 112, "this belongs to somebody");
}

TEST_F(CodeCaveTest, ClearsATextThatWasWiped) {
  {
    Result<CodeCave> cave = Borrow(100);
    ASSERT_TRUE(cave.has_value());
    ASSERT_TRUE(cave.value().Put("a text that is long enough").has_value());
    std::memset(page_ + kCavePage - 112, 0, 4);
  }
  EXPECT_TRUE(IsZero());
}

TEST_F(CodeCaveTest, LeavesATextThatIsBeingRead) {
  {
    Result<CodeCave> cave = Borrow(100);
    ASSERT_TRUE(cave.has_value());
    ASSERT_TRUE(cave.value().Put("a text").has_value());
    cave.value().LeaveText();
  }
  EXPECT_STREQ(page_ + kCavePage - 112, "a text");
}

}  // namespace
}  // namespace ptrace_prof
