// A child that has become another user: its messages arrive, its end is reported whatever the cause, and nothing is
// left.
#include "daemon/collector/sandbox/owner_child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "attach/base/sanitizers.h"
#include "tests/unit/daemon/collector/sandbox/nobody.h"
#include "tests/unit/in_child.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kPatience = Nanos::FromSeconds(60);

void Say(ByteSink& sink, const std::string& text) {
  static_cast<void>(sink.Write(std::as_bytes(std::span(text))).has_value());
}

TargetOwner Ourselves() { return {.uid = ::getuid(), .gid = ::getgid()}; }

bool NoChildrenLeft() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

TEST(OwnerChild, SaysWhatItFound) {
  const std::string much(1 << 20, 'x');
  const auto report = RunAsOwner(
      Ourselves(), [] { return 0; }, [&](const auto& denied, ByteSink& sink) { Say(sink, denied ? "denied" : much); },
      kPatience);
  EXPECT_EQ(report.ended, "");
  EXPECT_EQ(report.bytes, much);
  EXPECT_TRUE(NoChildrenLeft());
}

TEST(OwnerChild, IsTheOwnerAndConfined) {
  if (kIsSanitized) {
    GTEST_SKIP() << "nothing is confined that a sanitizer is in";
  }
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const auto report = RunAsOwner(
      {.uid = kNobody, .gid = kNobody}, [] { return 0; },
      [](const auto&, ByteSink& sink) {
        const bool forks = ::fork() >= 0;
        Say(sink, std::to_string(::getuid()) + " " + std::to_string(::getgid()) + (forks ? " forks" : ""));
      },
      kPatience);
  EXPECT_EQ(report.bytes, "65534 65534");
  EXPECT_TRUE(NoChildrenLeft());
}

TEST(OwnerChild, IsReportedWhenTheKernelRefuses) {
  const auto report = RunAsOwner(
      Ourselves(), [] { return EPERM; },
      [](const auto& denied, ByteSink& sink) { Say(sink, denied ? std::string(CodeName(denied->code)) : "allowed"); },
      kPatience);
  EXPECT_EQ(report.bytes, "PERMISSION_DENIED");
}

TEST(OwnerChild, ItsDeathIsReportedAndItsWordsAreKept) {
  const auto report = RunAsOwner(
      Ourselves(), [] { return 0; },
      [](const auto&, ByteSink& sink) {
        Say(sink, "so far");
        ::signal(SIGABRT, SIG_DFL);
        __builtin_trap();
      },
      kPatience);
  EXPECT_EQ(report.bytes, "so far");
  EXPECT_NE(report.ended.find("was killed by signal"), std::string::npos) << report.ended;
  EXPECT_TRUE(NoChildrenLeft());
}

TEST(OwnerChild, OneThatHangsIsLeft) {
  const auto report = RunAsOwner(
      Ourselves(), [] { return 0; },
      [](const auto&, ByteSink& sink) {
        Say(sink, "so far");
        for (;;) {
          ::pause();
        }
      },
      Nanos::FromMillis(200));
  EXPECT_EQ(report.bytes, "so far");
  EXPECT_NE(report.ended.find("made no progress"), std::string::npos) << report.ended;
  EXPECT_TRUE(NoChildrenLeft());
}

}  // namespace
}  // namespace ptrace_prof
