// When a window ends, and what is reported about it.
#include "daemon/collector/calls/call_window.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/rpc/messages/asked_steps.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kWindowBegin = Nanos(1'000'000'000'000);

Nanos At(double seconds) { return kWindowBegin + Nanos::FromSeconds(seconds); }

struct Asked {
  uint64_t steps = 0;
  std::optional<Schedule> schedule = std::nullopt;
  v1::OnFull on_full = v1::ON_FULL_DROP;
  Nanos longest = {};
};

struct Opened {
  explicit Opened(const Asked& asked = {}, double duration = 0, uint8_t minor = 13)
      : request(RequestOf(asked, duration)),
        steps(request.spec().trace()),
        window(request, {3, minor, 0}, steps, [this](std::string_view notice) { said += std::string(notice) + "\n"; }) {
    window.ReportCaveats();
    window.Begin(kWindowBegin);
  }
  static CaptureTask RequestOf(const Asked& asked, double duration) {
    CaptureTask request;
    SetTarget(Pid(7), &request);
    request.mutable_spec()->set_mode(v1::MODE_TRACE);
    *request.mutable_spec()->mutable_trace() = AskedSteps{asked.steps, asked.schedule};
    request.mutable_spec()->mutable_trace()->set_on_full(asked.on_full);
    SetNanos(asked.longest, request.mutable_longest());
    SetNanos(Nanos::FromSeconds(duration), request.mutable_spec()->mutable_duration());
    return request;
  }
  bool Says(std::string_view part) const { return said.find(part) != std::string::npos; }

  std::string said;
  CaptureTask request;
  StepMarker steps;
  CallWindow window;
};

TEST(CallWindow, GoesByTime) {
  Opened limited({}, 3);
  EXPECT_FALSE(limited.window.IsOver(At(2.9), 0));
  EXPECT_TRUE(limited.window.IsOver(At(3), 0));
  Opened endless;
  EXPECT_FALSE(endless.window.IsOver(At(1e6), 1000));
  Opened by_the_service({.longest = Nanos::FromSeconds(5)});
  EXPECT_FALSE(by_the_service.window.IsOver(At(4), 0));
  EXPECT_TRUE(by_the_service.window.IsOver(At(5), 0));
  for (Opened* one : {&limited, &endless, &by_the_service}) {
    one->window.ReportAfter(At(6), {});
    EXPECT_EQ(one->said, "");
  }
}

TEST(CallWindow, WhereBytecodesAreTaxedItIsShortAndReported) {
  for (const VersionFacts& facts : SupportedVersions()) {
    const uint8_t minor = facts.minor;
    const bool is_taxed = minor == 10 || minor == 11;
    Opened by_default({}, 0, minor);
    EXPECT_EQ(by_default.Says(fmt::format("every bytecode of CPython 3.{}", minor)), is_taxed) << by_default.said;
    EXPECT_EQ(by_default.Says("recording lasts 2 s (--duration changes that)"), is_taxed);
    EXPECT_FALSE(by_default.window.IsOver(At(1.9), 0));
    EXPECT_EQ(by_default.window.IsOver(At(2), 0), is_taxed);
    Opened asked({}, 60, minor);
    EXPECT_EQ(asked.Says("every bytecode"), is_taxed);
    EXPECT_FALSE(asked.Says("2 s"));
    EXPECT_FALSE(asked.window.IsOver(At(59), 0));
  }
  Opened within_less({.longest = Nanos::FromSeconds(1)}, 0, 11);
  EXPECT_TRUE(within_less.window.IsOver(At(1), 0));
  Opened for_steps({.steps = 2}, 0, 11);
  for_steps.steps.OnStepEnd(At(20));
  EXPECT_FALSE(for_steps.window.IsOver(At(100), 0));
  Opened for_ever({.schedule = Schedule{.active = 1}}, 0, 11);
  EXPECT_TRUE(for_ever.window.IsOver(At(2), 0));
}

TEST(CallWindow, EndsAfterTheStepsAndSaysWhich) {
  Opened opened({.steps = 2}, 60);
  for (const double end : {1.0, 2.0, 3.0}) {
    EXPECT_FALSE(opened.window.IsOver(At(end), 0));
    opened.steps.OnStepEnd(At(end));
  }
  EXPECT_TRUE(opened.window.IsOver(At(3), 0));
  opened.window.ReportAfter(At(3), {});
  EXPECT_EQ(opened.said, "recorded 2 whole steps: 0 to 1\n");
}

TEST(CallWindow, SaysWhenFewerStepsCame) {
  Opened opened({.steps = 5}, 10);
  opened.steps.OnStepEnd(At(1));
  opened.steps.OnStepEnd(At(5));
  EXPECT_TRUE(opened.window.IsOver(At(10), 0));
  opened.window.ReportAfter(At(10), {});
  EXPECT_EQ(opened.said, "recorded 1 whole step: 0 (of 5 requested)\n");
  Opened none({.schedule = Schedule{.wait = 3, .warmup = 1, .active = 1}}, 10);
  none.steps.OnStepEnd(At(1));
  none.steps.OnStepEnd(At(2));
  none.window.ReportAfter(At(10), {});
  EXPECT_EQ(none.said, "no whole step was recorded: recording ended during step 1, counted from 0\n");
}

TEST(CallWindow, WithoutStepsItGoesOnByTimeAndSaysSo) {
  Opened by_number({.steps = 2}, 60);
  EXPECT_FALSE(by_number.window.IsOver(At(29), 0));
  EXPECT_EQ(by_number.said, "");
  EXPECT_FALSE(by_number.window.IsOver(At(30), 0));
  EXPECT_FALSE(by_number.window.IsOver(At(31), 0));
  EXPECT_EQ(by_number.said,
            "no torch.optim.Optimizer step finished in 30 s: everything is recorded from now on, for 30.0 s\n");
  EXPECT_TRUE(by_number.window.IsOver(At(60), 0));

  Opened by_schedule({.schedule = Schedule{.warmup = 1, .active = 1, .repeat = 1}}, 8);
  EXPECT_FALSE(by_schedule.window.IsOver(At(4), 0));
  EXPECT_TRUE(by_schedule.Says("in 4 s: everything is recorded from now on, for 4.0 s"));
  ASSERT_EQ(by_schedule.steps.turns().size(), 1U);
  EXPECT_EQ(by_schedule.steps.turns()[0].when, At(4));

  Opened without_end({.steps = 2});
  EXPECT_FALSE(without_end.window.IsOver(At(30), 0));
  EXPECT_TRUE(without_end.Says("until the process ends"));

  Opened taxed({.steps = 2}, 0, 11);
  EXPECT_FALSE(taxed.window.IsOver(At(29), 0));
  EXPECT_FALSE(taxed.window.IsOver(At(31), 0));  // the time is up, and counting starts here
  EXPECT_TRUE(taxed.window.IsOver(At(33), 0));
}

TEST(CallWindow, EndedBeforeAStepCame) {
  Opened opened({.steps = 2}, 60);
  EXPECT_FALSE(opened.window.IsOver(At(1), 0));
  opened.window.ReportAfter(At(1), {});
  EXPECT_EQ(opened.said, "no torch.optim.Optimizer step finished in 1.0 s: nothing was recorded\n");
}

TEST(CallWindow, EndsAtTheFirstLossWhereThatIsAskedFor) {
  Opened opened({.on_full = v1::ON_FULL_STOP}, 60);
  EXPECT_FALSE(opened.window.IsOver(At(1), 0));
  EXPECT_TRUE(opened.window.IsOver(At(2), 12));
  opened.window.ReportAfter(At(2), {});
  EXPECT_EQ(opened.said, "recording ended after 2.000 s: a buffer was full and 12 events were lost (--on-full stop)\n");
}

TEST(CallWindow, SaysWhatAScheduleShouldHaveAndWhoWasNotTraced) {
  Opened opened({.schedule = Schedule{.active = 1}}, 60);
  EXPECT_TRUE(opened.Says("no warm-up step"));
  opened.steps.OnStepEnd(At(1));
  opened.steps.OnStepEnd(At(2));
  opened.said.clear();
  opened.window.ReportAfter(At(3), {.children = 1});
  EXPECT_EQ(opened.said,
            "recorded 1 whole step: 0\n"
            "1 child process of process 7 was not traced: record each with its own --pid\n");
}

}  // namespace
}  // namespace ptrace_prof
