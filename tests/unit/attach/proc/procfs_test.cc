#include "attach/proc/procfs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "attach/proc/proc_stat.h"
#include "tests/unit/attach_child.h"
#include "tests/unit/sit_still.h"

namespace ptrace_prof {
namespace {

constexpr char kNastyName[] = ") R 1\\a\nb";  // a name that a target may choose to mislead readers

TEST(ParseProcessStatus, ReadsTheFieldsOfARealText) {
  const auto status = ParseProcessStatus(
      "Name:\tpy\\n\\\\x\nUmask:\t0022\nState:\tt (tracing "
      "stop)\nTgid:\t70\nNgid:\t0\nPid:\t71\nPPid:\t7\nTracerPid:\t123\n"
      "Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nNSpid:\t71\t9\t2\nKthread:\t0\nVmSize:\t 10 kB\nVmLck:\t 3 kB\nVmData:\t 4 "
      "kB\n"
      "CapEff:\t0000000000080000\nSeccomp:\t2\nSeccomp_filters:\t3\n");
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->name, "py\n\\x");
  EXPECT_EQ(status->state, 't');
  EXPECT_EQ(status->tgid, Pid(70));
  EXPECT_EQ(status->ppid, Pid(7));
  EXPECT_EQ(status->tracer, Pid(123));
  EXPECT_EQ(status->uid_real, 1u);
  EXPECT_EQ(status->uid_fs, 4u);
  EXPECT_EQ(status->gid_effective, 6u);
  EXPECT_EQ(status->ns_pids, (std::vector<int32_t>{71, 9, 2}));
  EXPECT_EQ(status->cap_effective, 0x80000u);
  EXPECT_EQ(status->seccomp_mode, 2);
  EXPECT_EQ(status->seccomp_filters, uint64_t{3});
  EXPECT_EQ((std::vector{status->memory_size, status->memory_locked, status->memory_data}),
            (std::vector<uint64_t>{10240, 3072, 4096}));
  EXPECT_FALSE(status->kernel_thread);
}

TEST(ParseProcessStatus, KnowsKernelThreads) {
  const std::string start = "Name:\tx\nState:\tS (sleeping)\nTgid:\t2\n";
  EXPECT_TRUE(ParseProcessStatus(start + "Kthread:\t1\n")->kernel_thread);
  EXPECT_TRUE(ParseProcessStatus(start)->kernel_thread);  // before 6.8: no memory
  EXPECT_FALSE(ParseProcessStatus(start + "VmSize:\t1 kB\n")->kernel_thread);
  EXPECT_FALSE(ParseProcessStatus("Name:\tx\nState:\tZ (zombie)\nTgid:\t2\n")->kernel_thread);
}

TEST(ParseProcessStatus, RefusesWhatIsNotOne) {
  for (const char* text :
       {"", "\n\n", "Name", "Name:\tx\n", "State:\tS\n", "State:\t\nTgid:\t1\n", "State:\tS\nTgid:\tx\n"}) {
    EXPECT_FALSE(ParseProcessStatus(text).has_value()) << text;
  }
}

TEST(ParseProcStat, FindsTheFieldsAfterAHostileName) {
  const std::string numbers = " S 7 70 70 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 1 2";
  const auto stat = ParseProcStat("70 (a) R 1 (b)" + numbers);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->ppid, 7);
  EXPECT_EQ(stat->start_ticks, 4711u);
  EXPECT_EQ(ParseProcState("70 (a) R 1 (b)" + numbers), 'S');
  for (const char* text : {"", "1 (a", "1 (a)", "1 (a) ", "1 (a) S", "1 (a) S 1 2 3 x"}) {
    EXPECT_FALSE(ParseProcStat(text).has_value()) << text;
  }
  EXPECT_EQ(ParseProcState("no bracket"), '?');
}

TEST(Procfs, ReadsALiveProcessWithAHostileName) {
  const Child child([](auto say) {
    ::prctl(PR_SET_NAME, kNastyName);
    say(1);
    SitStill();
  });
  ASSERT_EQ(child.Hear(), 1u);
  const auto status = ReadProcessStatus(child.pid());
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status.value().name, kNastyName);
  EXPECT_EQ(status.value().tgid, child.pid());
  EXPECT_EQ(status.value().ppid, Pid(::getpid()));
  EXPECT_EQ(status.value().tracer, Pid(0));
  EXPECT_EQ(status.value().ns_pids.front(), child.pid().value);
  EXPECT_FALSE(status.value().kernel_thread);
  EXPECT_EQ(ReadThreadName(child.pid(), Tid(child.pid().value)).value(), kNastyName);

  const auto start = ReadStartTime(child.pid());
  ASSERT_TRUE(start.has_value());
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const double age = static_cast<double>(now.tv_sec) - start.value().seconds();
  EXPECT_GE(age, -1.0);
  EXPECT_LT(age, 600.0);
  EXPECT_EQ(ReadExecutableId(child.pid()).value(), ReadExecutableId(Pid(::getpid())).value());
  EXPECT_FALSE(ReadExecutableId(child.pid()).value() == ReadExecutableId(Pid(::getppid())).value());
}

TEST(Procfs, ListsThreadsAndChildrenOfAllThreads) {
  // The grandchild is started by a second thread, so it is not in the main thread's list.
  const Child child([](auto say) {
    std::thread other([say] {
      const pid_t grandchild = ::fork();
      if (grandchild == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        SitStill();
      }
      say(static_cast<uint64_t>(grandchild));
      say(static_cast<uint64_t>(::syscall(SYS_gettid)));
      SitStill();
    });
    other.join();
  });
  const Pid grandchild(static_cast<int32_t>(child.Hear()));
  const Tid other(static_cast<int32_t>(child.Hear()));
  const auto threads = ListThreads(child.pid());
  ASSERT_TRUE(threads.has_value());
  EXPECT_EQ(threads.value(), (std::vector<Tid>{Tid(child.pid().value), other}));
  EXPECT_EQ(ListChildren(child.pid()).value(), std::vector<Pid>{grandchild});
  EXPECT_TRUE(ListChildren(grandchild).value().empty());
  EXPECT_EQ(ReadNamespacedTid(child.pid(), other).value(), other);
  ::kill(grandchild.value, SIGKILL);
}

TEST(Procfs, TranslatesIdsOfAnInnerPidNamespace) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to make a PID namespace";
  }
  const Child child([](auto say) {
    if (::unshare(CLONE_NEWPID) != 0) {
      say(1);
      return;
    }
    const pid_t inner = ::fork();
    if (inner == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      SitStill();
    }
    say(static_cast<uint64_t>(inner));
    SitStill();
  });
  const Pid inner(static_cast<int32_t>(child.Hear()));
  if (inner.value == 1) {
    GTEST_SKIP() << "PID namespaces are not allowed here";
  }
  EXPECT_EQ(ReadNamespacedTid(inner, Tid(inner.value)).value(), Tid(1));
  ::kill(inner.value, SIGKILL);
}

TEST(Procfs, ReadsCommandLines) {
  const auto mine = ReadCmdline(Pid(::getpid()));
  ASSERT_TRUE(mine.has_value());
  ASSERT_FALSE(mine.value().empty());
  EXPECT_NE(mine.value()[0].find("attach_proc_test"), std::string::npos);
}

TEST(Procfs, KnowsTheEndOfAProcess) {
  Child child([](auto) { SitStill(); });
  const Pid pid = child.pid();
  auto pidfd = OpenPidfd(pid);
  ASSERT_TRUE(pidfd.has_value());
  EXPECT_FALSE(HasExited(pidfd.value()));
  child.KillAndReap();
  EXPECT_TRUE(HasExited(pidfd.value()));
  EXPECT_EQ(OpenPidfd(pid).error().code, Code::kGone);
  EXPECT_EQ(ReadProcessStatus(pid).error().code, Code::kGone);
  EXPECT_EQ(ListThreads(pid).error().code, Code::kGone);
  EXPECT_EQ(ListChildren(pid).error().code, Code::kGone);
  EXPECT_EQ(ReadStartTime(pid).error().code, Code::kGone);
  EXPECT_EQ(ReadThreadName(pid, Tid(pid.value)).error().code, Code::kGone);
  EXPECT_EQ(ReadNamespacedTid(pid, Tid(pid.value)).error().code, Code::kGone);
  EXPECT_EQ(ReadExecutableId(pid).error().code, Code::kGone);
  EXPECT_EQ(ReadCmdline(pid).error().code, Code::kGone);
}

}  // namespace
}  // namespace ptrace_prof
