#include "attach/proc/anchored_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <numeric>
#include <vector>

#include "attach/proc/process_memory.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kWord = 0x1234;

RemoteAddr At(const void* thing) { return RemoteAddr(reinterpret_cast<uint64_t>(thing)); }

struct AnchoredMemoryTest : testing::Test {
  void Anchor() {
    memory.Anchor(At(&word), [](uint64_t found) { return found == kWord; });
  }
  ProcessMemory own{Pid(::getpid())};
  AnchoredMemory memory{own};
  uint64_t word = kWord;
  uint64_t value = 7;
  uint64_t read = 0;
};

TEST_F(AnchoredMemoryTest, ReadsLikeTheMemoryBelowUntilItIsAnchored) {
  word = 0;
  EXPECT_TRUE(memory.IsInPlace());
  EXPECT_EQ(memory.ReadValue(At(&value), &read), ReadStatus::kOk);
  EXPECT_EQ(read, 7U);
}

TEST_F(AnchoredMemoryTest, ReadsWhileTheWordIsThere) {
  Anchor();
  EXPECT_TRUE(memory.IsInPlace());
  EXPECT_EQ(memory.ReadValue(At(&value), &read), ReadStatus::kOk);
  EXPECT_EQ(read, 7U);
  EXPECT_EQ(memory.ReadValue(RemoteAddr(8), &read), ReadStatus::kFault);
}

TEST_F(AnchoredMemoryTest, AnotherProgramIsNotRead) {
  Anchor();
  word = 0;
  EXPECT_FALSE(memory.IsInPlace());
  EXPECT_EQ(memory.ReadValue(At(&value), &read), ReadStatus::kGone);
}

TEST_F(AnchoredMemoryTest, NothingWhereTheWordWasIsAnotherProgram) {
  memory.Anchor(RemoteAddr(8), [](uint64_t) { return true; });
  EXPECT_FALSE(memory.IsInPlace());
  EXPECT_EQ(memory.ReadValue(At(&value), &read), ReadStatus::kGone);
}

TEST_F(AnchoredMemoryTest, BatchesOfAnySize) {
  Anchor();
  std::vector<uint64_t> from(3000), to(3000);
  std::iota(from.begin(), from.end(), 1);
  std::vector<ReadRequest> requests;
  for (size_t i = 0; i < from.size(); ++i) {
    requests.push_back({At(&from[i]), &to[i], sizeof from[i]});
  }
  size_t filled = 0;
  EXPECT_EQ(memory.ReadBatch(requests, &filled), ReadStatus::kOk);
  EXPECT_EQ(filled, from.size());
  EXPECT_EQ(to, from);
  requests[2000].from = RemoteAddr(8);
  EXPECT_EQ(memory.ReadBatch(requests, &filled), ReadStatus::kFault);
  EXPECT_EQ(filled, 2000U);
}

}  // namespace
}  // namespace ptrace_prof
