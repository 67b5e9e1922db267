#include "attach/inject/left_texts.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "attach/inject/bootstrap_text.h"
#include "attach/inject/run_call.h"
#include "attach/inject/text_thunk.h"
#include "attach/proc/process_memory.h"

namespace ptrace_prof {
namespace {

constexpr size_t kTextPage = 4096;
constexpr uint32_t kLeftSlots = 4;

// A queue as CPython up to 3.12 has it, but small.
struct Queue {
  uint32_t lock = 1;
  uint32_t breaker = 0;
  uint32_t count = 0;
  uint32_t pad = 0;
  struct {
    uint64_t function = 0, argument = 0;
  } calls[kLeftSlots];
  uint32_t first = 0, last = 0;
};

// A page of our own that stands for unused memory of a target.
class LeftTextsTest : public testing::Test {
 protected:
  LeftTextsTest()
      : page_(static_cast<char*>(
            ::mmap(nullptr, kTextPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    target_.pid = target_.own_pid = Pid(::getpid());
    target_.queue.lock = Address(&queue_.lock);
    target_.queue.count = Address(&queue_.count);
    target_.queue.calls = Address(&queue_.calls);
    target_.queue.slots = kLeftSlots;
    target_.queue.limit = kLeftSlots - 1;
    target_.queue.first = Address(&queue_.first);
    target_.queue.breaker.word = Address(&queue_.breaker);
    target_.tails = {{Address(page_ + kFrom), kTextPage - kFrom}};
  }
  ~LeftTextsTest() override { ::munmap(page_, kTextPage); }

  static RemoteAddr Address(const void* what) { return RemoteAddr(reinterpret_cast<uint64_t>(what)); }

  char* Leave(size_t at) {
    return std::strcpy(page_ + at, LoadText({target_.own_pid, 7, "a-file.1", {}, "a-file", "a_module", 3}).c_str());
  }
  size_t Reclaim() {
    const Result<size_t> reclaimed = ReclaimLeftTexts(target_, memory_);
    EXPECT_TRUE(reclaimed.has_value()) << reclaimed.error().message;
    return reclaimed.has_value() ? reclaimed.value() : 0;
  }
  bool IsZero() const {
    return std::all_of(page_, page_ + kTextPage, [](char byte) { return byte == 0; });
  }

  static constexpr size_t kFrom = 500;
  char* page_;
  Queue queue_;
  InjectionTarget target_;
  ProcessMemory memory_{Pid(::getpid())};
};

TEST_F(LeftTextsTest, TakesThoseThatNobodyWillRead) {
  Leave(1024);
  std::memset(Leave(2048), 0, 4);  // of a call that could not be withdrawn
  EXPECT_EQ(Reclaim(), 2U);
  EXPECT_TRUE(IsZero());
  EXPECT_EQ(Reclaim(), 0U);
}

TEST_F(LeftTextsTest, LeavesThoseThatACallWaitsFor) {
  char* text = Leave(1024);
  Leave(2048);
  queue_.count = 1;
  queue_.calls[0] = {1, Address(text).value};
  queue_.last = 1;
  EXPECT_EQ(Reclaim(), 1U);
  EXPECT_EQ(std::string_view(text).substr(0, kTextBegin.size()), kTextBegin);
  EXPECT_EQ(page_[2048], 0);
}

TEST_F(LeftTextsTest, LeavesThoseThatAreToBeRunByWhatLetsExceptionsPass) {
  char* text = Leave(1024);
  TextThunkContext context;
  context.text = Address(text).value;
  queue_.count = 1;
  queue_.calls[0] = {1, Address(&context).value};
  queue_.last = 1;
  EXPECT_EQ(Reclaim(), 0U);
  queue_.count = 0;
  queue_.last = 0;
  EXPECT_EQ(Reclaim(), 1U);
}

TEST_F(LeftTextsTest, LeavesAllWhileSomeHookIsInPlace) {
  uint64_t slot = 0x1234;
  target_.frame_hook = FrameHook{Address(&slot), RemoteAddr(0x4321), {}, {}};
  Leave(1024);
  EXPECT_EQ(Reclaim(), 0U);
  slot = 0x4321;
  EXPECT_EQ(Reclaim(), 1U);
}

TEST_F(LeftTextsTest, LeavesWhatIsNotOfUs) {
  std::strcpy(page_ + 1024, "try:exec(compile(open('a').read(),'a','exec'))");
  EXPECT_EQ(Reclaim(), 0U);
  EXPECT_EQ(page_[1024], 't');
}

TEST_F(LeftTextsTest, ATextFindsRoomAmongThem) {
  for (size_t at = kFrom / 16 * 16 + 16; at + kMaxTextBytes <= kTextPage; at += kMaxTextBytes) {
    Leave(at);
  }
  std::memset(page_ + 3600, 'x', kTextPage - 3600);  // as if it belonged to the object
  RunReport report;
  target_.queue.lock_free = 0;  // held for ever: no call gets in
  const Patience patience{MonotonicNow() + Nanos::FromMillis(1), {}};
  const Result<void> done = RunText(
      target_, memory_, std::string(900, 'y'), patience, [] { return false; }, &report);
  ASSERT_TRUE(done.has_error());
  EXPECT_NE(done.error().code, Code::kResourceExhausted) << done.error().message;
}

}  // namespace
}  // namespace ptrace_prof
