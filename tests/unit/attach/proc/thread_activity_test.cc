#include "attach/proc/thread_activity.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "attach/proc/proc_file.h"
#include "attach/proc/wait_reason.h"
#include "tests/unit/attach_child.h"

namespace ptrace_prof {
namespace {

Tid MainThread(const Child& child) { return Tid(child.pid().value); }

// Reads the reason until the thread is blocked as the test wants, at most 100,000 times.
template <typename Wanted>
WaitReason ReasonOnce(ThreadActivity& activity, Wanted wanted) {
  WaitReason reason;
  for (int tries = 0; tries < 100'000 && !wanted(reason); ++tries) {
    reason = activity.Reason();
    std::this_thread::yield();
  }
  return reason;
}

struct BlockedCase {
  const char* what;
  void (*block)();
  WaitKind kind;
};

uint32_t futex_word = 0;

const BlockedCase kWaits[] = {
    {"futex", [] { ::syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0); }, WaitKind::kFutex},
    {"nanosleep",
     [] {
       const timespec hour{3600, 0};
       ::nanosleep(&hour, nullptr);
     },
     WaitKind::kSleep},
    {"select without descriptors", [] { ::select(0, nullptr, nullptr, nullptr, nullptr); }, WaitKind::kSleep},
    {"poll without descriptors", [] { ::poll(nullptr, 0, -1); }, WaitKind::kSleep},
    {"epoll",
     [] {
       epoll_event event;
       ::epoll_wait(::epoll_create1(0), &event, 1, -1);
     },
     WaitKind::kPoll},
    {"read from a pipe", [] { Child::WaitForParent(); }, WaitKind::kRead},
    {"wait for a child",
     [] {
       const pid_t parent = ::getpid();
       if (::fork() == 0) {
         ::prctl(PR_SET_PDEATHSIG, SIGKILL);
         if (::getppid() != parent) {
           ::_exit(0);  // killed before we could ask to die with it
         }
         for (;;) ::pause();
       }
       ::waitpid(-1, nullptr, 0);
     },
     WaitKind::kChild},
    {"pause", [] { ::pause(); }, WaitKind::kOther},
    {"a loop",
     [] {
       volatile bool forever = true;
       while (forever) {
       }
     },
     WaitKind::kRunning},
};

TEST(ThreadActivity, ReportsWhatABlockedThreadWaitsIn) {
  for (const BlockedCase& wait : kWaits) {
    const Child child([&](auto say) {
      say(1);
      wait.block();
    });
    ASSERT_EQ(child.Hear(), 1u);
    auto activity = ThreadActivity::Open(child.pid(), MainThread(child));
    ASSERT_TRUE(activity.has_value());
    const bool blocks = wait.kind != WaitKind::kRunning;
    const WaitReason reason = ReasonOnce(activity.value(), [&](const WaitReason& r) {
      return r.kind == wait.kind && r.call.empty() != blocks && (wait.kind != WaitKind::kOther || r.call == "pause");
    });
    EXPECT_EQ(reason.kind, wait.kind) << wait.what << " in " << reason.call;
    EXPECT_NE(reason.instruction_pointer.IsNull(), blocks) << wait.what;
    EXPECT_EQ(reason.futex_address, wait.kind == WaitKind::kFutex ? reinterpret_cast<uint64_t>(&futex_word) : 0);
  }
}

TEST(ThreadActivity, NamesAWaitThatGoesOnAfterASignal) {
  // SIGSTOP and SIGCONT make the kernel restart the sleep as restart_syscall.
  const Child child([](auto say) {
    say(1);
    const timespec hour{3600, 0};
    ::nanosleep(&hour, nullptr);
  });
  ASSERT_EQ(child.Hear(), 1u);
  auto activity = ThreadActivity::Open(child.pid(), MainThread(child));
  ASSERT_TRUE(activity.has_value());
  ReasonOnce(activity.value(), [](const WaitReason& r) { return r.kind == WaitKind::kSleep; });
  ::kill(child.pid().value, SIGSTOP);
  EXPECT_EQ(ReasonOnce(activity.value(), [](const WaitReason& r) { return r.kind == WaitKind::kStopped; }).kind,
            WaitKind::kStopped);
  ::kill(child.pid().value, SIGCONT);
  const WaitReason after = ReasonOnce(activity.value(), [](const WaitReason& r) { return r.kind == WaitKind::kSleep; });
  EXPECT_EQ(after.kind, WaitKind::kSleep) << after.call;
}

TEST(ThreadActivity, CountsCpuTime) {
  const Child child([](auto say) {
    say(1);
    Child::WaitForParent();
    const Nanos enough = OwnCpuTime() + Nanos::FromMillis(20);
    while (OwnCpuTime() < enough) {
    }
    say(2);
    ::pause();
  });
  ASSERT_EQ(child.Hear(), 1u);
  auto activity = ThreadActivity::Open(child.pid(), MainThread(child));
  ASSERT_TRUE(activity.has_value());
  const auto before = activity.value().Look();
  child.Release();
  ASSERT_EQ(child.Hear(), 2u);
  ReasonOnce(activity.value(), [](const WaitReason& r) { return r.kind == WaitKind::kOther; });
  const auto after = activity.value().Look();
  ASSERT_TRUE(before.has_value() && after.has_value());
  EXPECT_GT(after.value().cpu.value - before.value().cpu.value, 18'000'000);
  EXPECT_GT(after.value().slices, before.value().slices);
}

TEST(ThreadActivity, SaysGoneWhenTheThreadEnded) {
  Child child([](auto say) {
    say(1);
    ::pause();
  });
  ASSERT_EQ(child.Hear(), 1u);
  auto activity = ThreadActivity::Open(child.pid(), MainThread(child));
  ASSERT_TRUE(activity.has_value());
  activity.value().Reason();
  const Pid pid = child.pid();
  child.KillAndReap();
  EXPECT_EQ(activity.value().Look().error().code, Code::kGone);
  EXPECT_EQ(activity.value().Reason().kind, WaitKind::kDead);
  EXPECT_EQ(ThreadActivity::Open(pid, Tid(pid.value)).error().code, Code::kGone);
}

TEST(ThreadActivity, KnowsTheStateEvenWhereTheCallIsSecret) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to become another user";
  }
  const Child target([](auto say) {
    say(1);
    ::pause();
  });
  ASSERT_EQ(target.Hear(), 1u);
  const Child user([&](auto say) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) {
      ::_exit(1);
    }
    auto activity = ThreadActivity::Open(target.pid(), MainThread(target));
    if (activity.has_error()) {
      ::_exit(2);
    }
    const bool looks = activity.value().Look().has_value();
    const WaitReason reason =
        ReasonOnce(activity.value(), [](const WaitReason& r) { return r.kind == WaitKind::kUnknown; });
    say(100 + static_cast<uint64_t>(looks && reason.kind == WaitKind::kUnknown && reason.call.empty()));
    say(static_cast<uint64_t>(::kill(target.pid().value, 0) == -1));
  });
  EXPECT_EQ(user.Hear(), 101u);
}

TEST(ParseSyscallFile, IsCalmAboutMalformedText) {
  for (const char* text :
       {"", "\n", "x", "-1 ", "-2 0x1", "202", "202 0x1 0x2", "99999999999999999999 0x1", "0 0x1 0xzz 0x1"}) {
    const WaitReason reason = ParseSyscallFile(text);
    EXPECT_TRUE(reason.kind == WaitKind::kUnknown || reason.kind == WaitKind::kOther) << text;
    EXPECT_EQ(reason.call, "") << text;
  }
  const WaitReason odd = ParseSyscallFile("18446744073709551615 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n");
  EXPECT_EQ(odd.kind, WaitKind::kOther);
  EXPECT_EQ(odd.instruction_pointer.value, 8u);
  EXPECT_EQ(ParseSyscallFile("-1 0x7ffc 0x401000\n").instruction_pointer.value, 0x401000u);
  EXPECT_EQ(ParseSyscallFile("running\n").kind, WaitKind::kRunning);
}

TEST(SyscallWaits, AreSortedByNumber) {
  const auto calls = SyscallWaits();
  EXPECT_TRUE(
      std::is_sorted(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.number <= b.number; }));
  const auto futex = std::find_if(calls.begin(), calls.end(), [](const auto& c) { return c.number == SYS_futex; });
  ASSERT_NE(futex, calls.end());
  EXPECT_STREQ(futex->name, "futex");
}

}  // namespace
}  // namespace ptrace_prof
