// Run against a program of our own that has such a queue, and may have a thread that serves it.
#include "attach/inject/queued_call.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <new>

#include "attach/proc/process_memory.h"
#include "attach/proc/procfs.h"
#include "tests/unit/attach_child.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kQueueTimeout = Nanos::FromSeconds(60);
constexpr uint32_t kQueueSlots = 4;

// As CPython 3.13 and later have it, but small. Shared by the test and its target, at the same address in both.
struct QueueBoard {
  std::atomic<uint32_t> lock;  // 0: free
  std::atomic<uint32_t> breaker;
  uint32_t pad;
  uint32_t count;
  struct {
    uint64_t function, argument, flags;
  } calls[kQueueSlots];
  uint32_t first, last;
  char text[8];
  std::atomic<uint64_t> served;  // argument of the last call
  std::atomic<bool> serve;
  struct {
    uint64_t next, native_id, frame;
  } threads[2];
  uint64_t list;
  uint8_t traced[2];
};

void Serve(QueueBoard& board) {
  for (;;) {
    if (!board.serve || (board.breaker & 4) == 0) {
      ::sched_yield();
      continue;
    }
    board.lock = 1;
    const uint64_t argument = board.calls[board.first].argument;
    board.calls[board.first] = {};
    board.first = (board.first + 1) % kQueueSlots;
    board.count--;
    board.breaker &= ~4U;
    board.lock = 0;
    board.served = argument;
  }
}

class QueuedCallTest : public testing::Test {
 protected:
  QueuedCallTest()
      : board_(*new (::mmap(nullptr, sizeof(QueueBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                   QueueBoard{}),
        child_([this](auto say) {
          say(1);
          Serve(board_);
        }) {
    child_.Hear();
    std::memcpy(board_.text, "a text.", sizeof board_.text);
    queue_.lock = At(&board_.lock);
    queue_.lock_free = 0;
    queue_.count = At(&board_.count);
    queue_.counts = true;
    queue_.calls = At(&board_.calls);
    queue_.call_size = sizeof board_.calls[0];
    queue_.slots = kQueueSlots;
    queue_.limit = kQueueSlots;
    queue_.first = At(&board_.first);
    queue_.breaker.word = At(&board_.breaker);
    queue_.breaker.bits = 4;
    guard_ = {At(board_.text), {}, At(board_.text)};
    std::memcpy(guard_.bytes.data(), board_.text, sizeof board_.text);
  }
  ~QueuedCallTest() override { ::munmap(&board_, sizeof board_); }

  static RemoteAddr At(const volatile void* address) { return RemoteAddr(reinterpret_cast<uint64_t>(address)); }
  Result<QueuedCall> Put(uint64_t argument, Nanos timeout = kQueueTimeout) {
    return QueuedCall::Put(child_.pid(), memory_, queue_, {RemoteAddr(0x1000), RemoteAddr(argument)}, guard_,
                           Patience{MonotonicNow() + timeout, nullptr});
  }
  Code Refusal(Nanos timeout = Nanos::FromMillis(1)) {
    const Result<QueuedCall> call = Put(1, timeout);
    return call.has_value() ? Code::kOk : call.error().code;
  }
  bool IsEmpty() const {
    return board_.count == 0 && board_.first == board_.last && board_.calls[0].function == 0 &&
           board_.calls[1].function == 0;
  }
  void ExpectFree() const {
    const Result<ProcessStatus> status = ReadProcessStatus(child_.pid());
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(status.value().tracer.value, 0);
  }

  QueueBoard& board_;
  Child child_;
  ProcessMemory memory_{child_.pid()};
  CallQueue queue_;
  CallGuard guard_;
};

TEST_F(QueuedCallTest, IsServedByTheTarget) {
  board_.serve = true;
  for (uint64_t round = 1; round <= 20; ++round) {
    Result<QueuedCall> call = Put(round);
    ASSERT_TRUE(call.has_value()) << call.error().message;
    const Nanos deadline = MonotonicNow() + kQueueTimeout;
    for (bool taken = false; !taken && MonotonicNow() < deadline;) {
      const Result<bool> look = call.value().Taken();
      ASSERT_TRUE(look.has_value());
      taken = look.value();
    }
    while (board_.served != round && MonotonicNow() < deadline) {
      ::sched_yield();
    }
    EXPECT_EQ(board_.served, round);
    EXPECT_EQ(call.value().cost().stops, 1U);
  }
  ExpectFree();
}

TEST_F(QueuedCallTest, IsTakenBackWhenNobodyServesIt) {
  {
    Result<QueuedCall> call = Put(1);
    ASSERT_TRUE(call.has_value());
    EXPECT_EQ(board_.count, 1U);
    EXPECT_EQ(board_.calls[0].argument, 1U);
  }
  EXPECT_TRUE(IsEmpty());
  EXPECT_STREQ(board_.text, "a text.");
  ExpectFree();
}

TEST_F(QueuedCallTest, IsWipedWhenOthersHaveComeBehindIt) {
  Result<QueuedCall> call = Put(1);
  ASSERT_TRUE(call.has_value());
  board_.calls[1] = {0x2000, 2, 0};
  board_.last = 2;
  board_.count = 2;
  const auto withdrawal = call.value().Withdraw();
  ASSERT_TRUE(withdrawal.has_value());
  EXPECT_EQ(withdrawal.value(), Withdrawal::kLeft);
  EXPECT_EQ(board_.count, 2U);
  EXPECT_EQ(board_.calls[0].argument, 1U);
  EXPECT_STREQ(board_.text, "");
}

TEST_F(QueuedCallTest, RefusesAQueueThatIsFullLockedOrOutOfOrder) {
  board_.count = kQueueSlots;
  EXPECT_EQ(Refusal(), Code::kResourceExhausted);
  board_.count = 3;  // with both ends at the same slot
  EXPECT_EQ(Refusal(), Code::kDataLoss);
  board_.count = 0;
  board_.first = board_.last = kQueueSlots;
  EXPECT_EQ(Refusal(), Code::kDataLoss);
  board_.first = board_.last = 0;
  board_.lock = 1;
  EXPECT_EQ(Refusal(), Code::kUnavailable);
  EXPECT_TRUE(IsEmpty());
  EXPECT_EQ(board_.breaker & 4, 0U);
  ExpectFree();
}

TEST_F(QueuedCallTest, RefusesWhenTheProgramIsAnother) {
  board_.text[0] = 'A';
  EXPECT_EQ(Refusal(), Code::kGone);
  EXPECT_TRUE(IsEmpty());
}

TEST_F(QueuedCallTest, RefusesAStoppedTarget) {
  ::kill(child_.pid().value, SIGSTOP);
  const Nanos deadline = MonotonicNow() + kQueueTimeout;
  for (char state = 0; state != 'T' && MonotonicNow() < deadline;) {
    const Result<ProcessStatus> status = ReadProcessStatus(child_.pid());
    ASSERT_TRUE(status.has_value());
    state = status.value().state;
  }
  EXPECT_EQ(Refusal(), Code::kFailedPrecondition);
  EXPECT_TRUE(IsEmpty());
}

// The state of a thread that did not stop in time, until it stops and is released.
TEST_F(QueuedCallTest, OurOwnTracingIsNoOtherTracer) {
  EXPECT_TRUE(CheckStoppable(child_.pid()).has_value());
  ASSERT_EQ(::ptrace(PTRACE_SEIZE, child_.pid().value, nullptr, nullptr), 0);
  EXPECT_TRUE(CheckStoppable(child_.pid()).has_value());
  const Child other(
      [tracee = child_.pid().value](auto say) { say(::ptrace(PTRACE_SEIZE, tracee, nullptr, nullptr) == 0 ? 1 : 2); });
  EXPECT_EQ(other.Hear(), 2U) << "it is traced";
}

TEST_F(QueuedCallTest, RingsForEachElementOfAList) {
  struct Element {
    uint64_t next, owner, word;
  };
  auto* elements = reinterpret_cast<Element*>(board_.calls);  // any shared memory will do
  elements[0] = {At(&elements[1]).value, 99, 8};
  elements[1] = {At(&elements[2]).value, 99, 1};
  elements[2] = {0, 77, 0};
  board_.served = At(&elements[0]).value;
  queue_.breaker = {RemoteAddr(), 8, 4, false, At(&board_.served), 0, 8, 16, RemoteAddr(99)};
  queue_.calls = At(&elements[3]);
  queue_.slots = queue_.limit = 1;
  const Result<QueuedCall> call = Put(1);
  ASSERT_TRUE(call.has_value()) << call.error().message;
  EXPECT_EQ(elements[0].word, 12U);
  EXPECT_EQ(elements[1].word, 5U);
  EXPECT_EQ(elements[2].word, 0U) << "another's";
}

TEST_F(QueuedCallTest, ABellThatMayHoldThreadsDoesNotStayBehind) {
  queue_.breaker.bits = 1;
  queue_.breaker.holds_traced = true;
  queue_.breaker.reasons.fill(At(&board_.pad));
  for (const uint32_t others : {0U, 1U}) {
    board_.breaker = 0;
    board_.pad = others;
    Result<QueuedCall> call = Put(1);
    ASSERT_TRUE(call.has_value()) << call.error().message;
    EXPECT_EQ(board_.breaker, 1U);
    EXPECT_EQ(call.value().Withdraw().value(), Withdrawal::kTakenBack);
    EXPECT_EQ(board_.breaker, others) << "it may be somebody else's";
    EXPECT_TRUE(IsEmpty());
  }
}

TEST_F(QueuedCallTest, IsNotPutWhereItWouldHoldAThread) {
  board_.threads[0] = {At(&board_.threads[1]).value, 7, At(&board_.traced[0]).value};
  board_.threads[1] = {0, 8, At(&board_.traced[1]).value};
  board_.list = At(&board_.threads[0]).value;
  queue_.traced = TracedFlags{.head = At(&board_.list), .next = 0, .native_id = 8, .frame = 16, .runner = 7};
  board_.traced[0] = 255;
  EXPECT_TRUE(Put(1).has_value()) << "the thread that makes the calls is not held";
  board_.traced[1] = 255;
  const Result<QueuedCall> refused = Put(1);
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().reason, Reason::kForeignProfiler);
  EXPECT_TRUE(IsEmpty());
  ExpectFree();
}

}  // namespace
}  // namespace ptrace_prof
