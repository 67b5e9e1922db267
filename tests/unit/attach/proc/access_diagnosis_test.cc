#include "attach/proc/access_diagnosis.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <cerrno>
#include <thread>

#include "attach/proc/procfs.h"
#include "tests/unit/attach_child.h"
#include "tests/unit/sit_still.h"

namespace ptrace_prof {
namespace {

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// An ordinary user 1000 who reads their own process, with everything allowed.
AccessFacts OwnProcess() {
  AccessFacts f;
  f.pid = Pid(42);
  f.refused_errno = EPERM;
  f.target.name = "python3";
  f.target.tgid = Pid(42);
  for (ProcessStatus* status : {&f.self, &f.target}) {
    status->uid_real = status->uid_effective = status->uid_saved = status->uid_fs = 1000;
    status->gid_real = status->gid_effective = status->gid_saved = status->gid_fs = 1000;
  }
  f.same_user_ns = true;
  f.target_user = f.self_user = "ann";
  return f;
}

struct AccessCase {
  const char* what;
  Reason reason;
  void (*change)(AccessFacts& f);
  Code code;
  const char* in_message;
  const char* in_remedy;
};

void NoAttach(AccessFacts& f) { f.attach_mode_errno = EACCES; }
void NoRead(AccessFacts& f) { f.attach_mode_errno = f.read_mode_errno = EACCES; }

const AccessCase kAccessCases[] = {
    {"another tracer", Reason::kAlreadyTraced,
     [](AccessFacts& f) {
       f.target.tracer = Pid(77);
       f.tracer_name = "gdb";
     },
     Code::kFailedPrecondition, "traced by process 77 (gdb)", "end that"},
    {"seccomp", Reason::kSeccompDenied, [](AccessFacts& f) { f.asker.seccomp_mode = 2; }, Code::kPermissionDenied,
     "seccomp", "--cap-add=SYS_PTRACE"},
    {"Yama 1", Reason::kYamaDenied,
     [](AccessFacts& f) {
       NoAttach(f);
       f.yama_scope = 1;
     },
     Code::kPermissionDenied, "ptrace_scope is 1",
     "run with sudo, or: sudo sysctl kernel.yama.ptrace_scope=0, or start the program with `ptrace-prof record -- "},
    {"Yama 2", Reason::kYamaDenied,
     [](AccessFacts& f) {
       NoAttach(f);
       f.yama_scope = 2;
     },
     Code::kPermissionDenied, "ptrace_scope is 2", "sudo sysctl kernel.yama.ptrace_scope=0"},
    {"Yama 2 in a container", Reason::kYamaDenied,
     [](AccessFacts& f) {
       NoAttach(f);
       f.yama_scope = 2;
       f.self_in_container = true;
     },
     Code::kPermissionDenied, "ptrace_scope is 2", "docker run --cap-add=SYS_PTRACE"},
    {"Yama 3, even for root", Reason::kYamaDenied,
     [](AccessFacts& f) {
       NoAttach(f);
       f.yama_scope = 3;
       f.self.cap_effective = kCapSysPtrace;
     },
     Code::kPermissionDenied, "ptrace_scope is 3", "reboot"},
    {"Yama 0 explains nothing", Reason::kLsmDenied,
     [](AccessFacts& f) {
       NoAttach(f);
       f.yama_scope = 0;
     },
     Code::kPermissionDenied, "process 42 (python3)", "AppArmor"},
    {"another user", Reason::kCallerUidMismatch,
     [](AccessFacts& f) {
       NoRead(f);
       f.target.uid_real = f.target.uid_effective = f.target.uid_saved = 1001;
       f.target_user = "bob";
       f.yama_scope = 1;
     },
     Code::kPermissionDenied, "belongs to bob, but ptrace-prof runs as ann", "run as bob or with sudo"},
    {"root without the capability", Reason::kCapabilityMissing,
     [](AccessFacts& f) {
       NoRead(f);
       f.self.uid_fs = f.self.uid_effective = 0;
     },
     Code::kPermissionDenied, "root without CAP_SYS_PTRACE", "--cap-add=SYS_PTRACE"},
    {"set-user-ID", Reason::kTargetChangedIds,
     [](AccessFacts& f) {
       NoRead(f);
       f.target.uid_effective = f.target.uid_saved = 0;
     },
     Code::kPermissionDenied, "has changed its user or group ids", "sudo"},
    {"capabilities", Reason::kTargetHasCapabilities,
     [](AccessFacts& f) {
       NoRead(f);
       f.target.cap_effective = 0x400;
     },
     Code::kPermissionDenied, "capabilities that ptrace-prof lacks (0x400)", "sudo"},
    {"not dumpable", Reason::kTargetNotDumpable,
     [](AccessFacts& f) {
       NoRead(f);
       f.dumpable = false;
     },
     Code::kPermissionDenied, "PR_SET_DUMPABLE", "sudo"},
    {"other user namespace, as root", Reason::kUserNamespace,
     [](AccessFacts& f) {
       NoRead(f);
       f.same_user_ns.reset();
       f.self.cap_effective = kCapSysPtrace;
     },
     Code::kPermissionDenied, "another container (user namespace)", "on the host"},
    {"a security module, although we hold the capability", Reason::kLsmDenied,
     [](AccessFacts& f) {
       NoRead(f);
       f.self.cap_effective = kCapSysPtrace;
       f.target.uid_real = f.target.uid_effective = f.target.uid_saved = 1001;
       f.dumpable = false;
     },
     Code::kPermissionDenied, "process 42 (python3)", "AppArmor"},
    {"root, who has become the owner", Reason::kTargetNotDumpable,
     [](AccessFacts& f) {
       NoRead(f);
       f.dumpable = false;
       f.asker.is_root = true;
     },
     Code::kPermissionDenied, "PR_SET_DUMPABLE", "grant the capability"},
    {"our own filter is not the cause", Reason::kLsmDenied, [](AccessFacts& f) { f.self.seccomp_mode = 2; },
     Code::kPermissionDenied, "process 42 (python3)", "AppArmor"},
};

TEST(ExplainAccess, NamesEachCauseAndItsRemedy) {
  for (const AccessCase& c : kAccessCases) {
    AccessFacts facts = OwnProcess();
    c.change(facts);
    const Error error = ExplainAccess(facts);
    EXPECT_EQ(error.code, c.code) << c.what;
    EXPECT_EQ(ReasonName(error.reason), ReasonName(c.reason)) << c.what;
    EXPECT_EQ(error.thing, "process 42") << c.what;
    EXPECT_TRUE(Contains(error.message, c.in_message)) << c.what << ": " << error.message;
    EXPECT_TRUE(Contains(error.message, "process 42 (python3)")) << c.what << ": " << error.message;
    EXPECT_TRUE(Contains(error.remedy, c.in_remedy)) << c.what << ": " << error.remedy;
  }
}

TEST(CheckTarget, RefusesWhatIsNoOtherProcess) {
  EXPECT_EQ(CheckTarget(Pid(0)).error().code, Code::kInvalidArgument);
  EXPECT_EQ(CheckTarget(Pid(-1)).error().code, Code::kInvalidArgument);
  const auto self = CheckTarget(Pid(::getpid()));
  ASSERT_TRUE(self.has_error());
  EXPECT_EQ(self.error().reason, Reason::kTargetIsProfiler);
  EXPECT_TRUE(Contains(self.error().message, "ptrace-prof itself"));
  EXPECT_EQ(CheckTarget(Pid(INT32_MAX)).error().reason, Reason::kProcessNotFound);
  EXPECT_EQ(CheckTarget(Pid(INT32_MAX)).error().code, Code::kNotFound);
}

TEST(CheckTarget, NamesTheProcessOfAThreadId) {
  const Child child([](auto say) {
    std::thread other([say] {
      say(static_cast<uint64_t>(::syscall(SYS_gettid)));
      SitStill();
    });
    other.join();
  });
  const auto check = CheckTarget(Pid(static_cast<int32_t>(child.Hear())));
  ASSERT_TRUE(check.has_error());
  EXPECT_EQ(check.error().code, Code::kInvalidArgument);
  EXPECT_EQ(check.error().reason, Reason::kTargetIsThread);
  EXPECT_EQ(check.error().thing, "process " + std::to_string(child.pid().value));
  EXPECT_EQ(check.error().remedy, "use --pid " + std::to_string(child.pid().value));
  EXPECT_TRUE(CheckTarget(child.pid()).has_value());
}

TEST(CheckTarget, KnowsZombies) {
  Child child([](auto) {});
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid().value), &info, WEXITED | WNOWAIT), 0);
  const auto check = CheckTarget(child.pid());
  ASSERT_TRUE(check.has_error());
  EXPECT_EQ(check.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(check.error().reason, Reason::kTargetIsZombie);
  EXPECT_TRUE(Contains(check.error().message, "zombie until its parent " + std::to_string(::getpid())));
  child.Reap();
  EXPECT_EQ(CheckTarget(Pid(info.si_pid)).error().code, Code::kNotFound);
  EXPECT_EQ(ExplainRefusal(Pid(info.si_pid), ESRCH, CurrentAsker()).reason, Reason::kProcessNotFound);
}

TEST(CheckTarget, KnowsAMainThreadThatEndedBeforeTheOthers) {
  const Child child([](auto say) {
    std::thread([say] {
      // Only the main thread ends, by exit(2) instead of exit_group(2). Wait until the kernel shows that.
      for (char state = '?'; state != 'Z';) {
        state = ReadProcessStatus(Pid(::getpid())).value().state;
        std::this_thread::yield();
      }
      say(1);
      SitStill();
    }).detach();
    ::syscall(SYS_exit, 0);
  });
  ASSERT_EQ(child.Hear(), 1u);
  const auto check = CheckTarget(child.pid());
  ASSERT_TRUE(check.has_error());
  EXPECT_EQ(check.error().reason, Reason::kMainThreadEnded);
  EXPECT_TRUE(Contains(check.error().message, "main thread")) << check.error().message;
}

// During an exec by another thread, the main thread is a zombie, and for a moment the only thread.
TEST(CheckTarget, AProcessOfWhichAThreadExecsHasNotEnded) {
  for (int i = 0; i < 300; ++i) {
    const Child child([](auto) { std::thread([] { ::execl("/bin/sleep", "sleep", "1000", nullptr); }).join(); });
    std::string name;
    while (name != "sleep" && !HasFailure()) {
      const auto check = CheckTarget(child.pid());
      EXPECT_TRUE(check.has_value() || check.error().reason == Reason::kMainThreadEnded) << i << check.error().message;
      name = ReadProcessStatus(child.pid()).value().name;
    }
  }
}

TEST(CheckTarget, KnowsKernelThreads) {
  const auto kthreadd = ReadProcessStatus(Pid(2));
  if (kthreadd.has_error() || kthreadd.value().name != "kthreadd") {
    GTEST_SKIP() << "kernel threads are not visible in this PID namespace";
  }
  const auto check = CheckTarget(Pid(2));
  ASSERT_TRUE(check.has_error());
  EXPECT_EQ(check.error().code, Code::kInvalidArgument);
  EXPECT_EQ(check.error().reason, Reason::kTargetIsKernelThread);
  EXPECT_TRUE(Contains(check.error().message, "is a kernel thread"));
}

TEST(ExplainRefusal, NamesTheOtherTracer) {
  const Child target([](auto say) {
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    say(1);
    SitStill();
  });
  ASSERT_EQ(target.Hear(), 1u);
  const Child tracer([&](auto say) {
    ::prctl(PR_SET_NAME, "tracer");
    say(::ptrace(PTRACE_SEIZE, target.pid().value, nullptr, nullptr) == 0 ? 1 : 2);
    SitStill();
  });
  ASSERT_EQ(tracer.Hear(), 1u);
  ASSERT_EQ(::ptrace(PTRACE_SEIZE, target.pid().value, nullptr, nullptr), -1);
  const Error error = ExplainRefusal(target.pid(), errno, CurrentAsker());
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_EQ(error.reason, Reason::kAlreadyTraced);
  EXPECT_TRUE(Contains(error.message, std::to_string(tracer.pid().value) + " (tracer)")) << error.message;
}

TEST(ExplainRefusal, ReportsAnOrdinaryUserWhoseProcessItIs) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to become another user";
  }
  const Pid root_owned(::getpid());
  const Child user([root_owned](auto say) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) {
      ::_exit(1);
    }
    const Error error = ExplainRefusal(root_owned, EPERM, CurrentAsker());
    say(100 + static_cast<uint64_t>(error.reason == Reason::kCallerUidMismatch &&
                                    Contains(error.message, "belongs to root") &&
                                    Contains(error.remedy, "run as root or with sudo")));
  });
  EXPECT_EQ(user.Hear(), 101u);
}

TEST(ExplainRefusal, RecognisesThatItIsInAUserNamespaceOfItsOwn) {
  const Pid outside(::getpid());
  const Child inside([outside](auto say) {
    if (::unshare(CLONE_NEWUSER) != 0) {
      say(1);
      return;
    }
    const Error error = ExplainRefusal(outside, EPERM, CurrentAsker());
    say(100 + static_cast<uint64_t>(error.reason == Reason::kUserNamespace &&
                                    Contains(error.message, "another container (user namespace)")));
  });
  const uint64_t said = inside.Hear();
  if (said == 1) {
    GTEST_SKIP() << "user namespaces are not allowed here";
  }
  EXPECT_EQ(said, 101u);
}

TEST(ExplainRefusal, RecognisesAProcessThatIsNotDumpable) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to become another user";
  }
  const auto become_user = [] {
    return ::setresgid(65534, 65534, 65534) == 0 && ::setresuid(65534, 65534, 65534) == 0;
  };
  const Child target([&](auto say) {
    const bool ready = become_user() && ::prctl(PR_SET_DUMPABLE, 0) == 0;
    say(ready ? 1 : 2);
    SitStill();
  });
  ASSERT_EQ(target.Hear(), 1u);
  const Child user([&](auto say) {
    if (!become_user()) {
      ::_exit(1);
    }
    const Error error = ExplainRefusal(target.pid(), EPERM, CurrentAsker());
    say(100 +
        static_cast<uint64_t>(error.reason == Reason::kTargetNotDumpable && Contains(error.message, "not dumpable")));
  });
  EXPECT_EQ(user.Hear(), 101u);
}

}  // namespace
}  // namespace ptrace_prof
