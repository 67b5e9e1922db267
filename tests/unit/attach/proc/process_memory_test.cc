#include "attach/proc/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>

#include "tests/unit/attach_child.h"

namespace ptrace_prof {
namespace {

// Two readable pages and then a hole, the same in the child, filled with the index of each 8-byte word.
class ProcessMemoryTest : public testing::Test {
 protected:
  static constexpr size_t kPage = 4096;
  ProcessMemoryTest() {
    base_ = ::mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* words = static_cast<uint64_t*>(base_);
    std::iota(words, words + 2 * kPage / 8, uint64_t{0});
    ::munmap(static_cast<char*>(base_) + 2 * kPage, kPage);
    child_.emplace([](auto say) {
      say(1);
      Child::WaitForParent();
    });
    EXPECT_EQ(child_->Hear(), 1u);
    // In the parent, other bytes, so that a read of our own memory would be noticed.
    std::memset(base_, 0xee, 2 * kPage);
  }
  ~ProcessMemoryTest() override { ::munmap(base_, 2 * kPage); }

  RemoteAddr At(uint64_t offset) const { return RemoteAddr(reinterpret_cast<uint64_t>(base_) + offset); }

  void* base_ = nullptr;
  std::optional<Child> child_;
};

TEST_F(ProcessMemoryTest, ReadsTheOtherProcessesBytes) {
  ProcessMemory memory(child_->pid());
  uint64_t words[4] = {};
  ASSERT_EQ(memory.Read(At(kPage - 16), words, sizeof words), ReadStatus::kOk);
  EXPECT_EQ(words[0], kPage / 8 - 2);
  EXPECT_EQ(words[3], kPage / 8 + 1);
  uint32_t half = 1;
  EXPECT_EQ(memory.ReadValue(At(8), &half), ReadStatus::kOk);
  EXPECT_EQ(half, 1u);
  EXPECT_EQ(memory.calls(), 2u);
}

TEST_F(ProcessMemoryTest, AReadThatRunsIntoAHoleFailsAsAWhole) {
  ProcessMemory memory(child_->pid());
  char bytes[64];
  EXPECT_EQ(memory.Read(At(2 * kPage - 32), bytes, sizeof bytes), ReadStatus::kFault);
  EXPECT_EQ(memory.Read(At(2 * kPage), bytes, 1), ReadStatus::kFault);
  EXPECT_EQ(memory.Read(RemoteAddr(0), bytes, 1), ReadStatus::kFault);
  EXPECT_EQ(memory.Read(RemoteAddr(~uint64_t{0} - 3), bytes, 8), ReadStatus::kFault);
}

TEST_F(ProcessMemoryTest, ABatchStopsAtTheFirstRequestThatFaults) {
  ProcessMemory memory(child_->pid());
  uint64_t words[4] = {};
  char straddling[kPage + 64];
  const ReadRequest requests[] = {{At(8), &words[0], 8},
                                  {At(0), nullptr, 0},
                                  {At(80), &words[1], 8},
                                  {At(kPage), straddling, sizeof straddling},  // its first page is readable
                                  {At(160), &words[2], 8}};
  size_t filled = 99;
  EXPECT_EQ(memory.ReadBatch(requests, &filled), ReadStatus::kFault);
  EXPECT_EQ(filled, 3u);
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 10u);
  EXPECT_EQ(memory.calls(), 1u);
}

TEST_F(ProcessMemoryTest, LargeBatchesTakeOneCallPer1024Requests) {
  ProcessMemory memory(child_->pid());
  constexpr size_t kCount = 2500;
  std::vector<uint64_t> words(kCount);
  std::vector<ReadRequest> requests;
  for (size_t i = 0; i < kCount; ++i) {
    requests.push_back({At(i % 1000 * 8), &words[i], 8});
  }
  size_t filled = 0;
  ASSERT_EQ(memory.ReadBatch(requests, &filled), ReadStatus::kOk);
  EXPECT_EQ(filled, kCount);
  EXPECT_EQ(memory.calls(), 3u);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(words[i], i % 1000);
  }
  requests[2000].from = RemoteAddr(8);
  EXPECT_EQ(memory.ReadBatch(requests, &filled), ReadStatus::kFault);
  EXPECT_EQ(filled, 2000u);
}

TEST_F(ProcessMemoryTest, AnEmptyBatchAsksNobody) {
  ProcessMemory memory(child_->pid());
  size_t filled = 99;
  EXPECT_EQ(memory.ReadBatch({}, &filled), ReadStatus::kOk);
  EXPECT_EQ(filled, 0u);
  EXPECT_EQ(memory.calls(), 0u);
}

TEST_F(ProcessMemoryTest, SaysGoneWhenTheProcessEnded) {
  ProcessMemory memory(child_->pid());
  child_->KillAndReap();
  uint64_t word = 0;
  const ReadRequest request{At(0), &word, 8};
  size_t filled = 99;
  EXPECT_EQ(memory.ReadValue(At(0), &word), ReadStatus::kGone);
  EXPECT_EQ(memory.ReadBatch({&request, 1}, &filled), ReadStatus::kGone);
  EXPECT_EQ(filled, 0u);
}

TEST(ProcessMemory, SaysDeniedForAnotherUsersProcess) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to become another user";
  }
  const Pid parent(::getpid());
  const Child child([parent](auto say) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) {
      ::_exit(1);
    }
    char byte;
    say(100 + static_cast<uint64_t>(ProcessMemory(parent).Read(RemoteAddr(4096), &byte, 1)));
  });
  EXPECT_EQ(child.Hear(), 100 + static_cast<uint64_t>(ReadStatus::kDenied));
}

}  // namespace
}  // namespace ptrace_prof
