#include "attach/ptrace/stopped_threads.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "attach/proc/proc_file.h"
#include "attach/proc/proc_stat.h"
#include "attach/proc/procfs.h"
#include "tests/unit/attach_child.h"
#include "tests/unit/eventually.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kStopTimeout = Nanos::FromMillis(20'000);
constexpr int kThreads = 4;

// Shared by the test and its target.
struct Board {
  std::atomic<uint64_t> beats[kThreads];  // of each busy thread
  std::atomic<int32_t> tids[kThreads];
  std::atomic<uint64_t> signals;  // that handlers have seen
  std::atomic<bool> quit;
};

void Beat(Board& board, int index) {
  board.tids[index] = static_cast<int32_t>(::syscall(SYS_gettid));
  while (!board.quit) {
    board.beats[index]++;
    ::sched_yield();
  }
}

char StateOf(Pid pid, Tid tid) {
  const auto stat = ReadProcFile(ProcTaskPath(pid, tid, "stat"));
  return stat.has_value() ? ParseProcState(stat.value()) : 'X';
}

class StoppedThreadsTest : public testing::Test {
 protected:
  StoppedThreadsTest()
      : board_(*new (::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                   Board{}) {}
  ~StoppedThreadsTest() override {
    EXPECT_EQ(StoppedThreads::ReleaseLate(), 0u);
    ::munmap(&board_, sizeof(Board));
  }

  // A target in which all threads beat.
  void StartBusyTarget() {
    target_.emplace([this](auto say) {
      for (const int signal : {SIGUSR1, SIGUSR2, SIGRTMIN}) {
        static Board* board = &board_;
        ::signal(signal, [](int) { board->signals++; });
      }
      std::vector<std::thread> threads;
      for (int i = 1; i < kThreads; ++i) {
        threads.emplace_back(Beat, std::ref(board_), i);
      }
      say(1);
      Beat(board_, 0);
      for (std::thread& thread : threads) {
        thread.join();
      }
    });
    ASSERT_EQ(target_->Hear(), 1u);
    for (int i = 0; i < kThreads; ++i) {
      ASSERT_TRUE(Beats(i));
    }
  }
  Pid pid() const { return target_->pid(); }
  Tid tid(int index) const { return Tid(board_.tids[index]); }
  bool Beats(int index) const {
    const uint64_t before = board_.beats[index];
    return Eventually([&] { return board_.beats[index] > before; });
  }
  void ExpectUntouched() const {
    for (int i = 0; i < kThreads; ++i) {
      EXPECT_TRUE(Beats(i)) << "thread " << i;
      const auto status = ReadProcessStatus(Pid(board_.tids[i]));
      ASSERT_TRUE(status.has_value());
      EXPECT_EQ(status.value().tracer, Pid(0));
      EXPECT_NE(status.value().state, 't');
      EXPECT_NE(status.value().state, 'T');
    }
  }

  Board& board_;
  std::optional<Child> target_;
};

TEST_F(StoppedThreadsTest, StopsOneThreadAndLeavesTheOthersRunning) {
  StartBusyTarget();
  {
    const auto stopped = StoppedThreads::Stop(pid(), tid(2), kStopTimeout);
    ASSERT_TRUE(stopped.has_value()) << stopped.error().message;
    EXPECT_EQ(stopped.value().threads(), std::vector<Tid>{tid(2)});
    EXPECT_EQ(StateOf(pid(), tid(2)), 't');
    const uint64_t beats = board_.beats[2];
    EXPECT_TRUE(Beats(0) && Beats(1) && Beats(3));
    EXPECT_EQ(board_.beats[2], beats);
  }
  ExpectUntouched();
}

TEST_F(StoppedThreadsTest, StopsAllThreadsAndResumesThem) {
  StartBusyTarget();
  {
    const auto stopped = StoppedThreads::StopAll(pid(), kStopTimeout);
    ASSERT_TRUE(stopped.has_value()) << stopped.error().message;
    EXPECT_EQ(stopped.value().threads().size(), static_cast<size_t>(kThreads));
    for (const Tid thread : ListThreads(pid()).value()) {
      EXPECT_EQ(StateOf(pid(), thread), 't');
    }
  }
  ExpectUntouched();
}

TEST_F(StoppedThreadsTest, AMovedOneStillHolds) {
  StartBusyTarget();
  {
    auto first = StoppedThreads::Stop(pid(), tid(1), kStopTimeout);
    ASSERT_TRUE(first.has_value());
    const StoppedThreads second(std::move(first).value());
    EXPECT_EQ(StateOf(pid(), tid(1)), 't');
  }
  ExpectUntouched();
}

// The threads share one CPU with us. While we run they cannot stop, and they do not continue before they have stopped.
TEST_F(StoppedThreadsTest, WhoHasNoCpuStandsStillBeforeItStops) {
  StartBusyTarget();
  cpu_set_t one, all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(::sched_getcpu()), &one);
  for (int i = 0; i < kThreads; ++i) {
    ASSERT_EQ(::sched_setaffinity(tid(i).value, sizeof one, &one), 0);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  size_t late = 0;
  for (int round = 0; round < 200; ++round) {
    {
      const auto stopped = StoppedThreads::StopAllAtOnce(pid(), Nanos(), [&] { return tid(round % kThreads); });
      ASSERT_TRUE(stopped.has_value()) << stopped.error().message;
      uint64_t beats[kThreads];
      std::ranges::copy(board_.beats, beats);
      late += kThreads - stopped.value().threads().size();
      const Nanos later = MonotonicNow() + Nanos(200'000);
      while (MonotonicNow() < later) {
        ::sched_yield();
      }
      for (int i = 0; i < kThreads; ++i) {
        ASSERT_EQ(board_.beats[i], beats[i]) << "thread " << i << ", round " << round;
      }
    }
    ASSERT_TRUE(Eventually([] { return StoppedThreads::ReleaseLate() == 0; }));
  }
  EXPECT_GT(late, 0u);
  ::sched_setaffinity(0, sizeof all, &all);
  ExpectUntouched();
}

TEST_F(StoppedThreadsTest, AThreadStoppedBySigstopStaysStopped) {
  StartBusyTarget();
  ::kill(pid().value, SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return StateOf(pid(), tid(0)) == 'T' && StateOf(pid(), tid(3)) == 'T'; }));
  for (int round = 0; round < 50; ++round) {
    {
      const auto stopped = StoppedThreads::StopAll(pid(), kStopTimeout);
      ASSERT_TRUE(stopped.has_value()) << stopped.error().message;
      EXPECT_EQ(stopped.value().threads().size(), static_cast<size_t>(kThreads));
    }
    for (int i = 0; i < kThreads; ++i) {
      ASSERT_TRUE(Eventually([&] { return StateOf(pid(), tid(i)) == 'T'; })) << StateOf(pid(), tid(i));
    }
  }
  const uint64_t beats = board_.beats[0];
  EXPECT_EQ(ReadProcessStatus(pid()).value().tracer, Pid(0));
  EXPECT_EQ(board_.beats[0], beats);
  ::kill(pid().value, SIGCONT);
  ExpectUntouched();
}

TEST_F(StoppedThreadsTest, ContinuingAStoppedProcessWhileItIsHeldWorks) {
  StartBusyTarget();
  ::kill(pid().value, SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return StateOf(pid(), tid(0)) == 'T'; }));
  {
    const auto stopped = StoppedThreads::StopAll(pid(), kStopTimeout);
    ASSERT_TRUE(stopped.has_value());
    ::kill(pid().value, SIGCONT);
  }
  ExpectUntouched();
}

TEST_F(StoppedThreadsTest, StoppingAHeldProcessBySigstopWorks) {
  StartBusyTarget();
  {
    const auto stopped = StoppedThreads::StopAll(pid(), kStopTimeout);
    ASSERT_TRUE(stopped.has_value());
    ::kill(pid().value, SIGSTOP);
  }
  EXPECT_TRUE(Eventually([&] { return StateOf(pid(), tid(0)) == 'T'; }));
  ::kill(pid().value, SIGCONT);
  ExpectUntouched();
}

TEST_F(StoppedThreadsTest, SignalsSentDuringAStopAreDelivered) {
  StartBusyTarget();
  {
    const auto stopped = StoppedThreads::StopAll(pid(), kStopTimeout);
    ASSERT_TRUE(stopped.has_value());
    ::kill(pid().value, SIGUSR1);
    ::kill(pid().value, SIGUSR2);
    EXPECT_EQ(board_.signals, 0u);
  }
  EXPECT_TRUE(Eventually([&] { return board_.signals == 2; }));
  ExpectUntouched();
}

TEST_F(StoppedThreadsTest, NoSignalIsLostAmongManyStops) {
  StartBusyTarget();
  std::atomic<bool> enough = false;
  uint64_t sent = 0;
  std::thread sender([&] {
    while (!enough) {
      // Queued signals are all delivered. A signal is refused when the queue is full.
      if (::sigqueue(pid().value, SIGRTMIN, {}) == 0) {
        ++sent;
      } else {
        ::sched_yield();
      }
    }
  });
  bool all_stopped = true;
  for (int stop = 1; stop <= 100 && all_stopped; ++stop) {
    const auto stopped = stop % 16 == 0 ? StoppedThreads::StopAll(pid(), kStopTimeout)
                                        : StoppedThreads::Stop(pid(), tid(stop % kThreads), kStopTimeout);
    all_stopped = stopped.has_value();
  }
  enough = true;
  sender.join();
  EXPECT_TRUE(all_stopped);
  EXPECT_GT(sent, 0u);
  EXPECT_TRUE(Eventually([&] { return board_.signals == sent; })) << board_.signals << " of " << sent;
  ExpectUntouched();
}

TEST_F(StoppedThreadsTest, StopsEveryThreadOfATargetThatKeepsMakingThreads) {
  target_.emplace([this](auto say) {
    say(1);
    while (!board_.quit) {
      std::array<std::thread, 3> threads;
      for (std::thread& thread : threads) {
        thread = std::thread([this] { board_.beats[0]++; });
      }
      for (std::thread& thread : threads) {
        thread.join();
      }
    }
  });
  ASSERT_EQ(target_->Hear(), 1u);
  for (int round = 0; round < 300; ++round) {
    {
      const auto stopped = StoppedThreads::StopAll(pid(), kStopTimeout);
      ASSERT_TRUE(stopped.has_value()) << stopped.error().message;
      for (const Tid thread : ListThreads(pid()).value()) {
        // A thread that was about to end may be seen doing so for a moment.
        EXPECT_TRUE(Eventually([&] {
          const char state = StateOf(pid(), thread);
          return state == 't' || state == 'Z' || state == 'X';
        })) << StateOf(pid(), thread);
      }
    }
    ASSERT_TRUE(Beats(0));
  }
  board_.quit = true;
  const int status = target_->Reap();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(StoppedThreadsTest, TheTargetRunsOnWhenItsHolderIsKilled) {
  StartBusyTarget();
  Child holder([this](auto say) {
    const auto stopped = StoppedThreads::StopAll(pid(), kStopTimeout);
    say(stopped.has_value() ? 1 : 2);
    Child::WaitForParent();
  });
  ASSERT_EQ(holder.Hear(), 1u);
  EXPECT_EQ(StateOf(pid(), tid(0)), 't');
  holder.KillAndReap();
  ExpectUntouched();
}

TEST_F(StoppedThreadsTest, AnotherTracerIsAPermissionError) {
  StartBusyTarget();
  const Child tracer([this](auto say) {
    say(::ptrace(PTRACE_SEIZE, tid(1).value, nullptr, nullptr) == 0 ? 1 : 2);
    Child::WaitForParent();
  });
  ASSERT_EQ(tracer.Hear(), 1u);
  EXPECT_EQ(StoppedThreads::Stop(pid(), tid(1), kStopTimeout).error().code, Code::kPermissionDenied);
  const auto all = StoppedThreads::StopAll(pid(), kStopTimeout);
  ASSERT_TRUE(all.has_error());
  EXPECT_EQ(all.error().reason, Reason::kAlreadyTraced);
  EXPECT_NE(all.error().message.find("by process " + std::to_string(tracer.pid().value)), std::string::npos);
  EXPECT_TRUE(Beats(0) && Beats(2) && Beats(3));
}

TEST_F(StoppedThreadsTest, KnowsWhatHasEnded) {
  StartBusyTarget();
  const Pid ended = pid();
  const auto nobody = StoppedThreads::Stop(pid(), Tid(INT32_MAX), kStopTimeout);
  ASSERT_TRUE(nobody.has_value());
  EXPECT_TRUE(nobody.value().threads().empty());
  const auto other_process = StoppedThreads::Stop(pid(), Tid(::getpid()), kStopTimeout);
  ASSERT_TRUE(other_process.has_value());
  EXPECT_TRUE(other_process.value().threads().empty());
  ::kill(ended.value, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(ended.value), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(StoppedThreads::StopAll(ended, kStopTimeout).error().code, Code::kGone);  // a zombie
  EXPECT_EQ(StoppedThreads::Stop(ended, tid(0), kStopTimeout).error().code, Code::kGone);
  target_->Reap();
  EXPECT_EQ(StoppedThreads::StopAll(ended, kStopTimeout).error().code, Code::kGone);
  EXPECT_EQ(StoppedThreads::Stop(ended, tid(0), kStopTimeout).error().code, Code::kGone);
}

}  // namespace
}  // namespace ptrace_prof
