// Run on a list of threads in our own memory.
#include "attach/inject/script_threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "attach/proc/process_memory.h"

namespace ptrace_prof {
namespace {

struct Thread {
  Thread* next;
  void* owner;
  uint64_t breaker;
  int32_t waits;
  char path[64];
};

class ScriptThreadsTest : public testing::Test {
 protected:
  ScriptThreadsTest() {
    for (size_t i = 0; i < all_.size(); ++i) {
      all_[i] = {i + 1 < all_.size() ? &all_[i + 1] : nullptr, this, uint64_t{1} << 40, 0, {}};
    }
  }
  static RemoteAddr At(const void* address) { return RemoteAddr(reinterpret_cast<uint64_t>(address)); }
  ScriptRequests Requests() const {
    return {At(&head_),
            offsetof(Thread, next),
            offsetof(Thread, owner),
            At(this),
            offsetof(Thread, waits),
            offsetof(Thread, path),
            sizeof(Thread::path),
            offsetof(Thread, breaker),
            1U << 5};
  }

  std::array<Thread, 300> all_{};
  Thread* head_ = all_.data();
  ProcessMemory memory_{Pid(::getpid())};
  ScriptThreads threads_{Pid(::getpid()), memory_, Requests()};
};

TEST_F(ScriptThreadsTest, AsksAndClears) {
  Thread& thread = all_[3];
  ASSERT_TRUE(threads_.Ask(At(&thread), "/tmp/script.py").has_value());
  EXPECT_EQ(thread.waits, 1);
  EXPECT_STREQ(thread.path, "/tmp/script.py");
  EXPECT_EQ(thread.breaker, (uint64_t{1} << 40) | 1U << 5);
  const ScriptRequest request = threads_.Read(At(&thread)).value();
  EXPECT_TRUE(request.waits);
  EXPECT_EQ(request.path, "/tmp/script.py");
  ASSERT_TRUE(threads_.Clear(At(&thread), request.path.size()).has_value());
  EXPECT_EQ(thread.waits, 0);
  EXPECT_EQ(std::count(std::begin(thread.path), std::end(thread.path), '\0'), 64);
}

TEST_F(ScriptThreadsTest, OfManyItListsTheNewestAndTheOldest) {
  const std::vector<RemoteAddr> listed = threads_.List().value();
  ASSERT_EQ(listed.size(), 128U);
  EXPECT_EQ(listed.front(), At(&all_.front()));
  EXPECT_EQ(listed[126], At(&all_[126]));
  EXPECT_EQ(listed.back(), At(&all_.back()));
}

TEST_F(ScriptThreadsTest, StopsAtOneThatIsNotOfThisInterpreter) {
  all_[2].owner = nullptr;
  EXPECT_EQ(threads_.List().value().size(), 2U);
  all_[0].owner = nullptr;
  EXPECT_EQ(threads_.List().error().code, Code::kGone);
}

TEST_F(ScriptThreadsTest, ALoopHasAnEnd) {
  all_[5].next = all_.data();
  EXPECT_EQ(threads_.List().value().size(), 128U);
}

TEST_F(ScriptThreadsTest, APathWithoutAnEndIsCut) {
  std::memset(all_[0].path, 'x', sizeof all_[0].path);
  EXPECT_EQ(threads_.Read(At(all_.data())).value().path.size(), sizeof all_[0].path);
}

}  // namespace
}  // namespace ptrace_prof
