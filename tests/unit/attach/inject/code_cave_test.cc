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

constexpr size_t kPage = 4096;

// A page of our own that stands for the last page of an object.
class CodeCaveTest : public testing::Test {
 protected:
  CodeCaveTest()
      : page_(static_cast<char*>(::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~CodeCaveTest() override { ::munmap(page_, kPage); }

  RemoteAddr At(size_t offset) const { return RemoteAddr(reinterpret_cast<uint64_t>(page_) + offset); }
  Result<CodeCave> Borrow(size_t size) {
    return CodeCave::Borrow(Pid(::getpid()), memory_, std::vector<MemoryTail>{{At(1000), kPage - 1000}}, size);
  }
  bool IsZero() const {
    return std::all_of(page_, page_ + kPage, [](char byte) { return byte == 0; });
  }

  char* page_;
  ProcessMemory memory_{Pid(::getpid())};
};

TEST_F(CodeCaveTest, HoldsATextAndGivesTheBytesBack) {
  {
    Result<CodeCave> cave = Borrow(100);
    ASSERT_TRUE(cave.has_value()) << cave.error().message;
    EXPECT_EQ(cave.value().address(), At(kPage - 112));
    ASSERT_TRUE(cave.value().Put("a text").has_value());
    EXPECT_STREQ(page_ + kPage - 112, "a text");
    ASSERT_TRUE(cave.value().Put("two").has_value());
    EXPECT_STREQ(page_ + kPage - 112, "two");
    EXPECT_TRUE(cave.value().Put(std::string(100, 'x')).has_error());
  }
  EXPECT_TRUE(IsZero());
}

TEST_F(CodeCaveTest, LeavesAloneWhatIsNotZero) {
  std::strcpy(page_ + kPage - 50, "left by somebody");
  {
    const Result<CodeCave> cave = Borrow(100);
    ASSERT_TRUE(cave.has_value());
    EXPECT_EQ(cave.value().address(), At(kPage - 160));
  }
  for (size_t at = 1000; at < kPage; at += 90) {
    page_[at] = 'x';
  }
  const Result<CodeCave> cave = Borrow(100);
  ASSERT_TRUE(cave.has_error());
  EXPECT_EQ(cave.error().reason, Reason::kNoRoomForText);
}

TEST_F(CodeCaveTest, TakesNoMemoryThatCannotBeWritten) {
  ::mprotect(page_, kPage, PROT_READ);
  EXPECT_TRUE(Borrow(100).has_error());
}

TEST_F(CodeCaveTest, LeavesAloneWhatAnotherProgramHasPutThere) {
  {
    Result<CodeCave> cave = Borrow(100);
    ASSERT_TRUE(cave.has_value());
    ASSERT_TRUE(cave.value().Put("a text that is long enough").has_value());
    std::strcpy(page_ + kPage - 112, "this belongs to somebody");
  }
  EXPECT_STREQ(page_ + kPage - 112, "this belongs to somebody");
}

TEST_F(CodeCaveTest, ClearsATextThatWasWiped) {
  {
    Result<CodeCave> cave = Borrow(100);
    ASSERT_TRUE(cave.has_value());
    ASSERT_TRUE(cave.value().Put("a text that is long enough").has_value());
    std::memset(page_ + kPage - 112, 0, 4);
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
  EXPECT_STREQ(page_ + kPage - 112, "a text");
}

}  // namespace
}  // namespace ptrace_prof
