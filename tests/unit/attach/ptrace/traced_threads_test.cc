// Threads that stop too late, and threads that die while they are held.
#include "attach/ptrace/traced_threads.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <algorithm>
#include <thread>

#include "attach/proc/proc_file.h"
#include "attach/proc/proc_stat.h"
#include "attach/proc/procfs.h"
#include "attach/ptrace/brief_stop.h"
#include "attach/ptrace/guarded_seize.h"
#include "attach/ptrace/stopped_threads.h"
#include "attach/ptrace/tracee.h"
#include "tests/unit/attach_child.h"
#include "tests/unit/eventually.h"
#include "tests/unit/sit_still.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kLateTimeout = Nanos::FromMillis(20'000);

// Reports the ID of a second thread, which waits. The main thread calls exec when it is released.
template <typename Say>
void SitBesideAnExec(Say say) {
  std::thread held([say] {
    say(static_cast<uint64_t>(::syscall(SYS_gettid)));
    SitStill();
  });
  Child::WaitForParent();
  ::execl("/bin/sleep", "sleep", "1000", nullptr);
  ::_exit(1);
}

char StateOf(Tid tid) {
  const auto stat = ReadProcFile(ProcPath(Pid(tid.value), "stat"));
  return stat.has_value() ? ParseProcState(stat.value()) : 'X';
}

// vfork(2) leaves the parent in an uninterruptible wait until its child has ended; then it reports 2.
template <typename Say>
void WaitForAVfork(Say say) {
  const pid_t child = ::vfork();
  if (child == 0) {
    Child::WaitForParent();
    ::_exit(0);
  }
  say(2);
  SitStill();
}

TEST(LateThreads, AThreadInUninterruptibleSleepIsReleasedWhenItStops) {
  const Child target([](auto say) { WaitForAVfork(say); });
  const Tid main(target.pid().value);
  ASSERT_TRUE(Eventually([&] { return StateOf(main) == 'D'; }));
  for (int again = 0; again < 3; ++again) {
    const auto stopped = StoppedThreads::Stop(target.pid(), main, Nanos::FromMillis(5));
    ASSERT_TRUE(stopped.has_error());
    EXPECT_EQ(stopped.error().code, Code::kDeadlineExceeded);
    EXPECT_EQ(StoppedThreads::ReleaseLate(), 1u);
  }
  target.Release();
  EXPECT_TRUE(Eventually([] { return StoppedThreads::ReleaseLate() == 0; }));
  EXPECT_EQ(target.Hear(), 2u);
  EXPECT_EQ(ReadProcessStatus(target.pid()).value().tracer, Pid(0));
}

TEST(StoppedThreads, WhoWaitsForTheChildOfAVforkIsNotAwaited) {
  const Child target([](auto say) { WaitForAVfork(say); });
  const Tid main(target.pid().value);
  ASSERT_TRUE(Eventually([&] { return StateOf(main) == 'D'; }));
  {
    const auto stopped = StoppedThreads::StopAll(target.pid(), kLateTimeout);
    ASSERT_TRUE(stopped.has_value());
    EXPECT_TRUE(stopped.value().threads().empty());
    EXPECT_EQ(stopped.value().coming(), std::vector<Tid>{main});
  }
  target.Release();
  EXPECT_TRUE(Eventually([] { return StoppedThreads::ReleaseLate() == 0; }));
  EXPECT_EQ(target.Hear(), 2u);
}

TEST(LateThreads, AChildThatIsKilledWhileHeldKeepsItsExitStatusForUs) {
  Child target([](auto say) {
    std::thread([] { SitStill(); }).detach();
    say(1);
    SitStill();
  });
  ASSERT_EQ(target.Hear(), 1u);
  {
    const auto stopped = StoppedThreads::StopAll(target.pid(), kLateTimeout);
    ASSERT_TRUE(stopped.has_value());
    ::kill(target.pid().value, SIGKILL);
  }
  EXPECT_TRUE(Eventually([] { return StoppedThreads::ReleaseLate() == 0; }));
  const int status = target.Reap();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(LateThreads, TheParentOfAProcessThatIsKilledWhileHeldHearsOfIt) {
  const Child parent([](auto say) {
    const pid_t target = ::fork();
    if (target == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::thread([] { SitStill(); }).detach();
      SitStill();
    }
    say(static_cast<uint64_t>(target));
    int status = 0;
    ::waitpid(target, &status, 0);
    say(WIFSIGNALED(status) ? 100 + static_cast<uint64_t>(WTERMSIG(status)) : 1);
    SitStill();
  });
  const Pid target(static_cast<int32_t>(parent.Hear()));
  ASSERT_GT(target.value, 1);
  {
    const auto stopped = StoppedThreads::StopAll(target, kLateTimeout);
    ASSERT_TRUE(stopped.has_value());
    ::kill(target.value, SIGKILL);
  }
  EXPECT_TRUE(Eventually([] { return StoppedThreads::ReleaseLate() == 0; }));
  EXPECT_EQ(parent.Hear(), 100u + SIGKILL);
}

TEST(LateThreads, AnExecByAnotherThreadGoesThrough) {
  const Child target([](auto say) { SitBesideAnExec(say); });
  const Tid held(static_cast<int32_t>(target.Hear()));
  const ExecutableId before = ReadExecutableId(target.pid()).value();
  {
    const auto stopped = StoppedThreads::Stop(target.pid(), held, kLateTimeout);
    ASSERT_TRUE(stopped.has_value());
    ASSERT_EQ(stopped.value().threads().size(), 1u);
    target.Release();
    // The exec kills the held thread and then waits until its tracer has reaped it.
    ASSERT_TRUE(Eventually([&] { return StateOf(held) != 't'; }));
  }
  EXPECT_TRUE(Eventually([&] {
    StoppedThreads::ReleaseLate();
    const auto now = ReadExecutableId(target.pid());
    return now.has_value() && !(now.value() == before);
  }));
  EXPECT_EQ(StoppedThreads::ReleaseLate(), 0u);
  EXPECT_EQ(ReadProcessStatus(target.pid()).value().tracer, Pid(0));
}

// PTRACE_SEIZE waits for the exec, and the exec waits for us.
TEST(GuardedSeize, AnExecByAnotherThreadGoesThrough) {
  const Child target([](auto say) { SitBesideAnExec(say); });
  const Tid held(static_cast<int32_t>(target.Hear()));
  const ExecutableId before = ReadExecutableId(target.pid()).value();
  GuardedSeize seize;
  ASSERT_EQ(seize.Seize(held, {}), 0);
  target.Release();
  ASSERT_TRUE(Eventually([&] { return StateOf(held) == 'Z'; }));
  const Tid held_alone[] = {held};
  ASSERT_EQ(seize.Seize(Tid(target.pid().value), held_alone), 0) << "of the new program";
  EXPECT_FALSE(ReadExecutableId(target.pid()).value() == before);
  ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, target.pid().value, nullptr, nullptr), 0);
  ASSERT_TRUE(Eventually([&] { return LookAtTracee(Tid(target.pid().value)).stopped(); }));
  EXPECT_TRUE(DetachTracee(Tid(target.pid().value), 0));
}

// The next stop finds that the end of the first thread has not been reaped yet.
TEST(BriefStop, AnExecThatKilledWhoStoodStillDoesNotHoldUpTheNextStop) {
  const Child target([](auto say) { SitBesideAnExec(say); });
  const Tid held(static_cast<int32_t>(target.Hear()));
  BriefStop first(target.pid(), held, StopVia::kOwnRight);
  ASSERT_EQ(first.Await(kLateTimeout), BriefStop::State::kStopped);
  target.Release();
  ASSERT_TRUE(Eventually([&] { return StateOf(held) == 'Z'; }));
  first.Release();
  BriefStop second(target.pid(), Tid(target.pid().value), StopVia::kOwnRight);
  ASSERT_EQ(second.Await(kLateTimeout), BriefStop::State::kStopped) << "of the new program";
  second.Release();
  EXPECT_EQ(StoppedThreads::ReleaseLate(), 0u);
  EXPECT_EQ(ReadProcessStatus(target.pid()).value().tracer, Pid(0));
}

// The thread then has the ID of the main thread, and would wait at its first instruction until the tracer ends.
TEST(LateThreads, WhoExecsUnderAnotherIdIsLetGo) {
  const Child target([](auto say) {
    std::thread held([say] {
      say(static_cast<uint64_t>(::syscall(SYS_gettid)));
      SitStill();
    });
    std::thread execs([say] {
      say(static_cast<uint64_t>(::syscall(SYS_gettid)));
      Child::WaitForParent();
      ::execl("/bin/sleep", "sleep", "1000", nullptr);
      ::_exit(1);
    });
    SitStill();
  });
  const Tid one(static_cast<int32_t>(target.Hear()));
  const Tid other(static_cast<int32_t>(target.Hear()));
  const Tid held = std::min(one, other, [](Tid a, Tid b) { return a.value < b.value; });
  const Tid execs = held == one ? other : one;
  const ExecutableId before = ReadExecutableId(target.pid()).value();
  ASSERT_EQ(GuardedSeize::SeizeOne(execs), 0);
  AddTracedThread(target.pid(), execs);
  BriefStop stop(target.pid(), held, StopVia::kOwnRight);
  ASSERT_EQ(stop.Await(kLateTimeout), BriefStop::State::kStopped);
  target.Release();
  ASSERT_TRUE(Eventually([&] { return StateOf(execs) == 'D'; })) << "it waits for the end of the one that is held";
  ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, execs.value, nullptr, nullptr), 0);
  AddLateThread(target.pid(), execs);
  stop.Release();
  EXPECT_TRUE(Eventually([] { return StoppedThreads::ReleaseLate() == 0; }));
  EXPECT_FALSE(ReadExecutableId(target.pid()).value() == before);
  EXPECT_EQ(ReadProcessStatus(target.pid()).value().tracer, Pid(0));
}

TEST(LettingGo, ALateThreadGoesOnWithoutBeingAskedFor) {
  const Child target([](auto say) { WaitForAVfork(say); });
  const Tid main(target.pid().value);
  ASSERT_TRUE(Eventually([&] { return StateOf(main) == 'D'; }));
  const LettingGo letting_go(LetGoOf::kLate);
  ASSERT_TRUE(StoppedThreads::Stop(target.pid(), main, Nanos::FromMillis(5)).has_error());
  target.Release();
  EXPECT_EQ(target.Hear(), 2u);
  EXPECT_EQ(StoppedThreads::ReleaseLate(), 0u);
}

}  // namespace
}  // namespace ptrace_prof
