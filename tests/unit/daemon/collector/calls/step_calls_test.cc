// Which steps of optimizers end a pass of the loop.
#include "daemon/collector/calls/step_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace ptrace_prof {
namespace {

// "1A 1B": steps of optimizers A and B on thread 1. Appends "|" to those that end a pass.
std::string Passes(std::string_view steps) {
  StepCalls calls;
  std::string text;
  static constexpr char kThreads[10] = {};
  for (size_t at = 0; at + 1 < steps.size(); at += 3) {
    const bool ended = calls.OnStep(&kThreads[steps[at] - '0'], RemoteAddr(static_cast<uint64_t>(steps[at + 1])));
    text += text.empty() ? "" : " ";
    text += steps.substr(at, 2);
    text += ended ? "|" : "";
  }
  return text;
}

TEST(StepCalls, EachStepOfOneOptimizerEndsAPass) { EXPECT_EQ(Passes("1A 1A 1A"), "1A| 1A| 1A|"); }

TEST(StepCalls, OptimizersOfOneLoopMakeOnePass) {
  EXPECT_EQ(Passes("1A 1B 1C 1A 1B 1C 1A"), "1A| 1B 1C 1A| 1B 1C 1A|");
  EXPECT_EQ(Passes("1B 1A 1A 1B 1A 1A"), "1B| 1A 1A| 1B 1A| 1A|");  // as many as those of the most frequent
  EXPECT_EQ(Passes("1A 1A 1B 1A 1A 1A 1B"), "1A| 1A| 1B 1A| 1A| 1A| 1B");
}

TEST(StepCalls, AnOptimizerMayTakeOver) {
  EXPECT_EQ(Passes("1A 1A 1A 1B 1B 1B 1A 1A"), "1A| 1A| 1A| 1B 1B| 1B| 1A 1A|");
}

TEST(StepCalls, AnotherLoopOnAnotherThreadIsNotCounted) {
  EXPECT_EQ(Passes("1A 2B 1A 2B 1A 2B 1A"), "1A| 2B 1A| 2B 1A| 2B 1A|");
  EXPECT_EQ(Passes("1A 2B 2C 1A 2B 1A"), "1A| 2B 2C 1A| 2B 1A|");
}

TEST(StepCalls, AnotherThreadMayGoOn) {
  EXPECT_EQ(Passes("1A 2A 3A"), "1A| 2A| 3A|");                                   // with the same optimizer
  EXPECT_EQ(Passes("1A 1A 2B 2B 2B 1A 2B 2B"), "1A| 1A| 2B 2B| 2B| 1A 2B| 2B|");  // or with its own
  EXPECT_EQ(Passes("1A 2B 3C 2B 3C"), "1A| 2B 3C 2B| 3C");
}

TEST(StepCalls, ManyOptimizersAreNotKept) {
  StepCalls calls;
  int passes = 0;
  for (uint64_t optimizer = 1; optimizer <= 1000; ++optimizer) {  // a new one for each pass
    passes += calls.OnStep(&calls, RemoteAddr(optimizer)) ? 1 : 0;
  }
  EXPECT_EQ(passes, 1 + 1000 / 64);
}

TEST(StepCalls, KnowsThePresentCodeAtAnAddress) {
  StepCalls calls;
  EXPECT_EQ(calls.RoleOf(7), StepRole::kNone);
  calls.Know(RemoteAddr(7), StepRole::kStep);
  EXPECT_EQ(calls.RoleOf(7), StepRole::kStep);
  calls.Know(RemoteAddr(7), StepRole::kNone);
  EXPECT_EQ(calls.RoleOf(7), StepRole::kNone);
}

}  // namespace
}  // namespace ptrace_prof
