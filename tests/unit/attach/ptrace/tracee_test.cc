#include "attach/ptrace/tracee.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "attach/ptrace/traced_threads.h"
#include "tests/unit/attach_child.h"

namespace ptrace_prof {
namespace {

siginfo_t Report(int code, int status) {
  siginfo_t info{};
  info.si_pid = 7;
  info.si_code = code;
  info.si_status = status;
  return info;
}

TEST(DecodeWait, NamesEveryStop) {
  struct Case {
    siginfo_t info;
    TraceeState state;
    int signal;
    bool stopped;
  };
  constexpr int kEventStop = PTRACE_EVENT_STOP << 8;
  const Case cases[] = {
      {{}, TraceeState::kRunning, 0, false},
      {Report(CLD_TRAPPED, kEventStop | SIGTRAP), TraceeState::kInterrupted, 0, true},
      {Report(CLD_TRAPPED, kEventStop | SIGSTOP), TraceeState::kGroupStopped, 0, true},
      {Report(CLD_TRAPPED, kEventStop | SIGTTOU), TraceeState::kGroupStopped, 0, true},
      {Report(CLD_TRAPPED, SIGUSR1), TraceeState::kSignalStopped, SIGUSR1, true},
      {Report(CLD_TRAPPED, SIGTRAP), TraceeState::kSignalStopped, SIGTRAP, true},
      {Report(CLD_TRAPPED, SIGSTOP), TraceeState::kSignalStopped, SIGSTOP, true},
      {Report(CLD_TRAPPED, 64), TraceeState::kSignalStopped, 64, true},
      {Report(CLD_TRAPPED, PTRACE_EVENT_EXEC << 8 | SIGTRAP), TraceeState::kEventStopped, 0, true},
      {Report(CLD_EXITED, 3), TraceeState::kDead, 0, false},
      {Report(CLD_KILLED, SIGKILL), TraceeState::kDead, 0, false},
      {Report(CLD_DUMPED, SIGSEGV), TraceeState::kDead, 0, false},
      {Report(CLD_CONTINUED, SIGCONT), TraceeState::kRunning, 0, false},
  };
  for (const Case& c : cases) {
    const TraceeStatus status = DecodeWait(c.info);
    EXPECT_EQ(status.state, c.state) << c.info.si_code << " " << c.info.si_status;
    EXPECT_EQ(status.signal, c.signal);
    EXPECT_EQ(status.stopped(), c.stopped);
  }
}

// A child that reports 7 from its handler of SIGUSR1, seized but not interrupted: the signal stops it.
class SignalStopTest : public testing::Test {
 protected:
  SignalStopTest()
      : child_([](auto say) {
          static auto reported = say;
          ::signal(SIGUSR1, [](int) { reported(7); });
          say(1);
          for (;;) {
            ::pause();
          }
        }) {
    EXPECT_EQ(child_.Hear(), 1u);
    EXPECT_EQ(::ptrace(PTRACE_SEIZE, tid().value, nullptr, nullptr), 0);
    ::kill(child_.pid().value, SIGUSR1);
    siginfo_t info;
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(tid().value), &info, WSTOPPED | WNOWAIT), 0);
  }
  Tid tid() const { return Tid(child_.pid().value); }

  Child child_;
};

TEST_F(SignalStopTest, DetachingDeliversTheSignal) {
  const TraceeStatus status = LookAtTracee(tid());
  EXPECT_EQ(status.state, TraceeState::kSignalStopped);
  EXPECT_EQ(status.signal, SIGUSR1);
  EXPECT_TRUE(DetachTracee(tid(), status.signal));
  EXPECT_EQ(child_.Hear(), 7u);
  EXPECT_EQ(LookAtTracee(tid()).state, TraceeState::kRunning);  // it is still our child
}

TEST_F(SignalStopTest, ReleasingALateThreadDeliversTheSignal) {
  AddLateThread(Pid(tid().value), tid());
  EXPECT_EQ(ReleaseLateThreads(), 0u);
  EXPECT_EQ(child_.Hear(), 7u);
}

TEST(LookAtTracee, KnowsWhatIsNotTraced) {
  EXPECT_EQ(LookAtTracee(Tid(1)).state, TraceeState::kNotTraced);
  EXPECT_FALSE(DetachTracee(Tid(1), 0));
}

}  // namespace
}  // namespace ptrace_prof
