// Run against a program of our own that calls a function through a word in its memory, as an interpreter evaluates
// frames.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "attach/inject/frame_thunk.h"
#include "attach/inject/strategy.h"
#include "attach/proc/process_memory.h"
#include "tests/unit/attach_child.h"
#include "tests/unit/eventually.h"

namespace ptrace_prof {
namespace {

constexpr size_t kFramePage = 4096;
constexpr Nanos kFrameTimeout = Nanos::FromSeconds(60);

struct Evaluated {
  uint64_t other;
  uint64_t generator;
};

struct FrameBoard {
  std::atomic<uint64_t> slot;
  std::atomic<uint64_t> calls;   // of the original
  std::atomic<uint64_t> wrong;   // calls whose arguments differ from those passed
  std::atomic<uint64_t> served;  // argument of the injected call
  std::atomic<uint64_t> times;
  std::atomic<int> outcome;      // of the injected call
  std::atomic<uint64_t> raised;  // calls of the original that had to begin with an exception
  std::atomic<bool> go;
  Evaluated frame;
  std::atomic<int> throwing;
  char text[8];
};
FrameBoard* frame_board = nullptr;

long Original(long one, Evaluated* frame, int throwing) {
  frame_board->calls++;
  frame_board->wrong += one != 11 || frame != &frame_board->frame;
  frame_board->raised += throwing != frame_board->throwing;
  return 33;
}

int BroughtIn(void* argument) {
  frame_board->served = reinterpret_cast<uint64_t>(argument);
  frame_board->times++;
  return frame_board->outcome;
}

void Work() {
  for (;;) {
    if (!frame_board->go) {
      ::sched_yield();
      continue;
    }
    const auto function = reinterpret_cast<long (*)(long, Evaluated*, int)>(frame_board->slot.load());
    frame_board->wrong += function(11, &frame_board->frame, frame_board->throwing) != 33;
  }
}

uint64_t At(const void* address) { return reinterpret_cast<uint64_t>(address); }

class FrameStrategyTest : public testing::Test {
 protected:
  FrameStrategyTest()
      : code_(::mmap(nullptr, kFramePage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        data_(::mmap(nullptr, kFramePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        child_((frame_board = MakeBoard(), [](auto say) {
          say(1);
          Work();
        })) {
    child_.Hear();
    target_.pid = child_.pid();
    target_.main_thread_only = true;
    target_.run_text = RemoteAddr(1);
    target_.tails = {{RemoteAddr(At(data_)), kFramePage}};
    target_.frame_hook = FrameHook{RemoteAddr(At(&frame_board->slot)),
                                   RemoteAddr(reinterpret_cast<uint64_t>(&Original)),
                                   {2, offsetof(Evaluated, generator), false},
                                   {{RemoteAddr(At(code_)), kFramePage}}};
    guard_ = {RemoteAddr(At(frame_board->text)), {}, RemoteAddr()};
  }
  ~FrameStrategyTest() override {
    ::munmap(frame_board, sizeof(FrameBoard));
    ::munmap(code_, kFramePage);
    ::munmap(data_, kFramePage);
  }
  static FrameBoard* MakeBoard() {
    auto* made = new (::mmap(nullptr, sizeof(FrameBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
        FrameBoard{};
    made->slot = reinterpret_cast<uint64_t>(&Original);
    return made;
  }

  Result<std::unique_ptr<RunningCall>> Perform(bool raises = false) {
    return kFrameStrategy.perform(
        target_, memory_, {{RemoteAddr(reinterpret_cast<uint64_t>(&BroughtIn)), RemoteAddr(4711)}, guard_, {}, raises},
        {MonotonicNow() + kFrameTimeout, [] { return true; }});
  }
  // Whether nothing of ours is left in the page, as the target sees it.
  bool IsZero(const void* page) {
    std::array<uint8_t, kFramePage> bytes{};
    return memory_.Read(RemoteAddr(At(page)), bytes.data(), bytes.size()) == ReadStatus::kOk &&
           std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
  }
  bool IsAsBefore() {
    return frame_board->slot == reinterpret_cast<uint64_t>(&Original) && IsZero(code_) && IsZero(data_);
  }

  void* code_;
  void* data_;
  Child child_;
  ProcessMemory memory_{child_.pid()};
  InjectionTarget target_;
  CallGuard guard_;
};

TEST_F(FrameStrategyTest, MakesOneCallAndLeavesNothing) {
  if (MakeFrameThunk(RemoteAddr(), RemoteAddr(), {}).empty()) {
    GTEST_SKIP() << "not for this machine";
  }
  frame_board->go = true;
  for (uint64_t round = 1; round <= 20; ++round) {
    {
      const auto running = Perform();
      ASSERT_TRUE(running.has_value()) << running.error().message;
      ASSERT_TRUE(Eventually([&] { return frame_board->times == round; }));
      EXPECT_EQ(frame_board->served, 4711U);
    }
    EXPECT_TRUE(IsAsBefore());
    const uint64_t calls = frame_board->calls;
    ASSERT_TRUE(Eventually([&] { return frame_board->calls > calls; }));
    EXPECT_EQ(frame_board->times, round);
  }
  EXPECT_EQ(frame_board->wrong, 0U);
  EXPECT_EQ(frame_board->raised, 0U);
}

TEST_F(FrameStrategyTest, HandsOnAnExceptionWhereTheCallMayRaise) {
  if (MakeFrameThunk(RemoteAddr(), RemoteAddr(), {}).empty()) {
    GTEST_SKIP() << "not for this machine";
  }
  frame_board->go = true;
  frame_board->outcome = -1;
  for (uint64_t round = 1; round <= 20; ++round) {
    const auto running = Perform(round % 2 == 0);
    ASSERT_TRUE(running.has_value()) << running.error().message;
    ASSERT_TRUE(Eventually([&] { return frame_board->times == round; }));
    const uint64_t calls = frame_board->calls;
    ASSERT_TRUE(Eventually([&] { return frame_board->calls > calls + 1; }));
    EXPECT_EQ(frame_board->raised, round / 2);
  }
  EXPECT_EQ(frame_board->wrong, 0U);
}

TEST_F(FrameStrategyTest, IsTakenBackWhenNobodyCalls) {
  {
    const auto running = Perform();
    ASSERT_TRUE(running.has_value()) << running.error().message;
    EXPECT_NE(frame_board->slot, reinterpret_cast<uint64_t>(&Original));
    const auto withdrawal = running.value()->Withdraw();
    ASSERT_TRUE(withdrawal.has_value());
    EXPECT_EQ(withdrawal.value(), Withdrawal::kTakenBack);
  }
  EXPECT_TRUE(IsAsBefore());
  frame_board->go = true;
  EXPECT_TRUE(Eventually([] { return frame_board->calls > 10; }));
  EXPECT_EQ(frame_board->times, 0U);
}

TEST_F(FrameStrategyTest, LetsACallWithAnExceptionPass) {
  frame_board->throwing = 1;
  frame_board->go = true;
  const auto running = Perform();
  ASSERT_TRUE(running.has_value()) << running.error().message;
  const uint64_t calls = frame_board->calls;
  ASSERT_TRUE(Eventually([&] { return frame_board->calls > calls + 100; }));
  EXPECT_EQ(frame_board->times, 0U);
  const Result<bool> taken = running.value()->Taken();
  EXPECT_TRUE(taken.has_value() && !taken.value());
  EXPECT_EQ(frame_board->wrong + frame_board->raised, 0U);
}

TEST_F(FrameStrategyTest, LetsFramesOfGeneratorsPass) {
  if (MakeFrameThunk(RemoteAddr(), RemoteAddr(), {}).empty()) {
    GTEST_SKIP() << "not for this machine";
  }
  struct Row {
    bool is_owner;
    uint64_t of_generator;
    uint64_t of_function;
  };
  uint64_t times = 0;
  for (const Row& row : {Row{false, uint64_t{1} << 40, 0}, Row{true, 0xff01, 0xff00}, Row{true, 0xff01, 0x0102}}) {
    target_.frame_hook->arguments.generator_is_owner = row.is_owner;
    frame_board->frame.generator = row.of_generator;
    frame_board->go = true;
    const auto running = Perform();
    ASSERT_TRUE(running.has_value()) << running.error().message;
    const uint64_t calls = frame_board->calls;
    ASSERT_TRUE(Eventually([&] { return frame_board->calls > calls + 100; }));
    EXPECT_EQ(frame_board->times, times);
    frame_board->frame.generator = row.of_function;
    EXPECT_TRUE(Eventually([&] { return frame_board->times == times + 1; }));
    ++times;
  }
  EXPECT_EQ(frame_board->wrong, 0U);
}

TEST_F(FrameStrategyTest, RefusesAHookThatIsInUse) {
  frame_board->slot = reinterpret_cast<uint64_t>(&BroughtIn);
  const auto running = Perform();
  ASSERT_TRUE(running.has_error());
  EXPECT_EQ(running.error().code, Code::kFailedPrecondition);
  EXPECT_NE(running.error().message.find("PEP 523"), std::string::npos);
  EXPECT_TRUE(IsZero(code_) && IsZero(data_));
}

}  // namespace
}  // namespace ptrace_prof
