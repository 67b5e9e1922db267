#include "attach/inject/run_call.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "attach/inject/signal_handlers.h"
#include "attach/proc/process_memory.h"
#include "tests/unit/attach_child.h"

namespace ptrace_prof {
namespace {

void OnSignal(int) {}

TEST(SignalHandlers, OnlyThoseOfTheJobCount) {
  Child child([](auto say) {
    struct sigaction action {};
    action.sa_handler = OnSignal;
    for (const int number : {SIGINT, SIGSEGV, SIGUSR1}) {
      ::sigaction(number, &action, nullptr);
      say(1);
      Child::WaitForParent();
    }
    ::pause();
  });
  for (const bool expected : {false, false, true}) {
    EXPECT_EQ(child.Hear(), 1U);
    const Result<bool> has = HasSignalHandlers(child.pid());
    ASSERT_TRUE(has.has_value());
    EXPECT_EQ(has.value(), expected);
    child.Release();
  }
}

TEST(RunText, NoTextThatCannotLetExceptionsPassOnceHandlersAreSetUp) {
  Child child([](auto say) {
    struct sigaction action {};
    action.sa_handler = OnSignal;
    ::sigaction(SIGALRM, &action, nullptr);
    say(1);
    ::pause();
  });
  EXPECT_EQ(child.Hear(), 1U);
  ProcessMemory memory(child.pid());
  InjectionTarget target;
  target.pid = child.pid();
  RunReport report;
  const Result<void> done = RunText(
      target, memory, "pass", {MonotonicNow() + Nanos::FromSeconds(60), {}}, [] { return true; }, &report);
  ASSERT_TRUE(done.has_error());
  EXPECT_EQ(done.error().code, Code::kUnavailable);
  EXPECT_NE(done.error().message.find("signal handlers"), std::string::npos);
}

}  // namespace
}  // namespace ptrace_prof
