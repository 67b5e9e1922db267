// Which steps are recorded, and their times.
#include "daemon/collector/calls/step_marker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/rpc/messages/asked_steps.h"

namespace ptrace_prof {
namespace {

// Ends a step at 10, 20, 30 …; "+30 -50 over": on at 30, off at 50, and then the recording is over.
std::string Steps(StepMarker& marker, int ends) {
  for (int i = 1; i <= ends; ++i) {
    marker.OnStepEnd(Nanos(10 * i));
  }
  std::string text = marker.is_on_at_first() ? "on" : "off";
  for (const StepMarker::Turn& turn : marker.turns()) {
    text += fmt::format(" {}{}", turn.is_on ? "+" : "-", turn.when.value);
  }
  return text + (marker.is_over() ? " over" : "");
}

std::string Stretches(const StepMarker& marker) {
  std::string text;
  for (const auto& [first, last] : marker.stretches()) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", first, last);
  }
  return text;
}

TEST(StepMarker, WithoutAPlanEveryStepIsMarked) {
  StepMarker marker;
  EXPECT_FALSE(marker.has_plan());
  EXPECT_FALSE(marker.step().has_value());
  EXPECT_EQ(Steps(marker, 5), "on");
  EXPECT_EQ(marker.step(), 4U);  // the step that runs
  EXPECT_TRUE(marker.is_recording());
  EXPECT_EQ(marker.recorded_steps(), 4U);
  EXPECT_EQ(Stretches(marker), "0-3");
}

TEST(StepMarker, SoManyStepsAndNothingElse) {
  StepMarker marker(AskedSteps{.steps = 3});
  EXPECT_TRUE(marker.has_plan());
  EXPECT_EQ(Steps(marker, 3), "off +10");
  EXPECT_EQ(marker.recorded_steps(), 2U);
  marker.OnStepEnd(Nanos(40));
  EXPECT_TRUE(marker.is_over());
  EXPECT_FALSE(marker.is_recording());
  ASSERT_EQ(marker.turns().size(), 2U);
  EXPECT_EQ(marker.turns()[1].when, Nanos(40));
  EXPECT_FALSE(marker.turns()[1].is_on);
  marker.OnStepEnd(Nanos(50));  // no longer counts
  EXPECT_EQ(marker.recorded_steps(), 3U);
  EXPECT_EQ(Stretches(marker), "0-2");
}

TEST(StepMarker, OneStep) {
  StepMarker marker(AskedSteps{.steps = 1});
  EXPECT_EQ(Steps(marker, 2), "off +10 -20 over");
  EXPECT_EQ(Stretches(marker), "0-0");
}

TEST(StepMarker, AScheduleTurnsItOnAndOff) {
  StepMarker marker(
      AskedSteps{.schedule = Schedule{.skip_first = 1, .wait = 1, .warmup = 1, .active = 2, .repeat = 2}});
  // Step 0 begins at 10; skipped: 0; waits: 1, 5; warms up: 2, 6; active: 3, 4 and 7, 8.
  EXPECT_EQ(Steps(marker, 9), "off +40 -60 +80");
  EXPECT_EQ(Steps(marker, 0), "off +40 -60 +80");
  marker.OnStepEnd(Nanos(100));
  EXPECT_EQ(Steps(marker, 0), "off +40 -60 +80 -100 over");
  EXPECT_EQ(Stretches(marker), "3-4 7-8");
}

TEST(StepMarker, CyclesThatTouchAreOneStretch) {
  StepMarker marker(AskedSteps{.schedule = Schedule{.active = 2, .repeat = 2}});
  EXPECT_EQ(Steps(marker, 5), "off +10 -50 over");
  EXPECT_EQ(Stretches(marker), "0-3");
}

TEST(StepMarker, WhereNoStepComesEverythingIsRecorded) {
  StepMarker marker(AskedSteps{.schedule = Schedule{.wait = 5, .active = 1, .repeat = 1}});
  marker.GiveUp(Nanos(7));
  EXPECT_EQ(Steps(marker, 3), "off +7");
  EXPECT_FALSE(marker.is_over());
  EXPECT_EQ(Stretches(marker), "0-1");
  StepMarker by_number(AskedSteps{.steps = 2});
  by_number.GiveUp(Nanos(7));
  EXPECT_EQ(Steps(by_number, 3), "off +7 -30 over");  // steps that come late still end it
}

std::string Windows(const StepMarker& marker) {
  std::string text;
  for (const TimeRange& window : marker.windows()) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", window.begin.value, window.end.value);
  }
  return text;
}

TEST(StepMarker, WindowsAreTheActiveStepsOfEachCycle) {
  StepMarker marker(AskedSteps{.schedule = Schedule{.wait = 1, .warmup = 1, .active = 2, .repeat = 2}});
  Steps(marker, 4);
  EXPECT_EQ(Windows(marker), "");
  StepMarker whole(AskedSteps{.schedule = Schedule{.wait = 1, .warmup = 1, .active = 2, .repeat = 2}});
  Steps(whole, 9);
  EXPECT_EQ(Windows(whole), "30-50 70-90");
  whole.Finish(Nanos(95));
  EXPECT_EQ(Windows(whole), "30-50 70-90");  // nothing was being recorded
  StepMarker touching(AskedSteps{.schedule = Schedule{.active = 2, .repeat = 2}});
  Steps(touching, 5);
  EXPECT_EQ(Windows(touching), "10-30 30-50");
  StepMarker few(AskedSteps{.steps = 3});
  Steps(few, 4);
  EXPECT_EQ(Windows(few), "10-40");
}

TEST(StepMarker, TheEndOfTheRecordingEndsAWindow) {
  StepMarker marker(AskedSteps{.steps = 5});
  Steps(marker, 2);
  marker.Finish(Nanos(25));
  EXPECT_EQ(Windows(marker), "10-25");
  marker.Finish(Nanos(30));
  EXPECT_EQ(Windows(marker), "10-25");
  StepMarker warming(AskedSteps{.schedule = Schedule{.warmup = 9, .active = 1}});
  Steps(warming, 2);
  warming.Finish(Nanos(25));
  EXPECT_EQ(Windows(warming), "");
  StepMarker all;
  Steps(all, 3);
  all.Finish(Nanos(35));
  EXPECT_EQ(Windows(all), "");  // no steps were asked for
}

TEST(StepMarker, KnowsWhenItWasOn) {
  StepMarker marker(AskedSteps{.schedule = Schedule{.wait = 1, .active = 1}});
  Steps(marker, 4);  // on from 20 to 30, and from 40
  std::string on;
  for (int64_t when = 15; when <= 45; when += 5) {
    on += marker.IsOnAt(Nanos(when)) ? '1' : '0';
  }
  EXPECT_EQ(on, "0110011");
  EXPECT_TRUE(StepMarker().IsOnAt(Nanos(1)));
}

TEST(StepMarker, TurnsNeverGoBackInTime) {
  StepMarker marker(AskedSteps{.schedule = Schedule{.wait = 1, .active = 1}});
  marker.OnStepEnd(Nanos(10));
  marker.OnStepEnd(Nanos(20));
  marker.OnStepEnd(Nanos(15));
  EXPECT_EQ(Steps(marker, 0), "off +20 -20");
}

}  // namespace
}  // namespace ptrace_prof
