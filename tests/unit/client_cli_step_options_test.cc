// What is written of steps, understood or refused.
#include <gtest/gtest.h>

#include "client/cli/step_options.h"

namespace ptrace_prof {
namespace {

RecordOptions Traced() {
  RecordOptions options;
  options.pid = "4711";
  options.mode = "trace";
  return options;
}

Result<RecordPlan> PlanWith(void (*change)(RecordOptions&)) {
  RecordOptions options = Traced();
  change(options);
  return MakeRecordPlan(options, {});
}

TEST(StepOptions, ANumberOfSteps) {
  const auto plan = PlanWith([](RecordOptions& o) { o.steps = "3"; });
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(plan.value().request.trace.steps, 3U);
  EXPECT_FALSE(plan.value().request.trace.schedule.has_value());
  EXPECT_EQ(StepsText(plan.value().request.trace), "3 whole steps, ");
  EXPECT_EQ(StepsText({}), "");
}

TEST(StepOptions, ASchedule) {
  const StepSchedule whole{.skip_first = 10, .wait = 1, .warmup = 2, .active = 3, .repeat = 4};
  const auto in_parts = PlanWith([](RecordOptions& o) {
    o.skip_first = "10";
    o.is_waiting = true;
    o.wait = "1";
    o.warmup = "2";
    o.active = "3";
    o.repeat = "4";
  });
  ASSERT_TRUE(in_parts.has_value()) << in_parts.error().message;
  EXPECT_EQ(in_parts.value().request.trace.schedule, whole);
  const auto in_one =
      PlanWith([](RecordOptions& o) { o.schedule = "skip_first=10,wait=1,warmup=2,active=3,repeat=4"; });
  ASSERT_TRUE(in_one.has_value()) << in_one.error().message;
  EXPECT_EQ(in_one.value().request.trace.schedule, whole);
  const auto least = PlanWith([](RecordOptions& o) { o.active = "1"; });
  ASSERT_TRUE(least.has_value()) << least.error().message;
  EXPECT_EQ(least.value().request.trace.schedule, (StepSchedule{.active = 1}));
}

TEST(StepOptions, WaitIsTheNamesWhereThereIsOne) {
  const auto named = PlanWith([](RecordOptions& o) {
    o.pid = "";
    o.name = "train";
    o.is_waiting = true;
    o.wait = "5s";
    o.schedule = "wait=1,active=1";
  });
  ASSERT_TRUE(named.has_value()) << named.error().message;
  EXPECT_EQ(named.value().named->wait, Nanos::FromSeconds(5));
  EXPECT_EQ(named.value().request.trace.schedule->wait, 1U);
}

struct Refusal {
  const char* what;
  void (*change)(RecordOptions&);
  const char* named;
};

class RefusedSteps : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedSteps, NamesTheOptionAndWhatToDo) {
  const auto plan = PlanWith(GetParam().change);
  ASSERT_TRUE(plan.has_error());
  EXPECT_EQ(plan.error().code, Code::kInvalidArgument);
  EXPECT_NE(plan.error().message.find(GetParam().named), std::string::npos) << plan.error().message;
  EXPECT_NE(plan.error().remedy, "");
}

INSTANTIATE_TEST_SUITE_P(
    StepOptions, RefusedSteps,
    testing::Values(Refusal{"none", [](RecordOptions& o) { o.steps = "0"; }, "--steps: '0'"},
                    Refusal{"negative", [](RecordOptions& o) { o.steps = "-1"; }, "--steps: '-1'"},
                    Refusal{"half", [](RecordOptions& o) { o.steps = "1.5"; }, "--steps: '1.5'"},
                    Refusal{"absurd", [](RecordOptions& o) { o.steps = "99999999999999"; }, "--steps"},
                    Refusal{"billions", [](RecordOptions& o) { o.active = "1000000001"; }, "--active"},
                    Refusal{"noactive", [](RecordOptions& o) { o.warmup = "1"; }, "--active is missing"},
                    Refusal{"zeroactive", [](RecordOptions& o) { o.active = "0"; }, "--active: '0'"},
                    Refusal{"badrepeat",
                            [](RecordOptions& o) {
                              o.active = "1";
                              o.repeat = "x";
                            },
                            "--repeat: 'x'"},
                    Refusal{"barewait",
                            [](RecordOptions& o) {
                              o.active = "1";
                              o.is_waiting = true;
                            },
                            "--wait: ''"},
                    Refusal{"timewait",
                            [](RecordOptions& o) {
                              o.active = "1";
                              o.is_waiting = true;
                              o.wait = "5s";
                            },
                            "--wait: '5s'"},
                    Refusal{"lonelywait",
                            [](RecordOptions& o) {
                              o.is_waiting = true;
                              o.wait = "1";
                            },
                            "--wait"},
                    Refusal{"namedwait",
                            [](RecordOptions& o) {
                              o.pid = "";
                              o.name = "train";
                              o.is_waiting = true;
                              o.active = "1";
                            },
                            "--name"},
                    Refusal{"both",
                            [](RecordOptions& o) {
                              o.active = "1";
                              o.steps = "1";
                            },
                            "--steps"},
                    Refusal{"bothagain",
                            [](RecordOptions& o) {
                              o.schedule = "active=1";
                              o.steps = "1";
                            },
                            "--steps"},
                    Refusal{"twice",
                            [](RecordOptions& o) {
                              o.schedule = "active=1";
                              o.active = "1";
                            },
                            "--schedule"},
                    Refusal{"badschedule", [](RecordOptions& o) { o.schedule = "wait=1"; }, "active"},
                    Refusal{"sampled",
                            [](RecordOptions& o) {
                              o.mode = "sample";
                              o.steps = "1";
                            },
                            "--steps goes with --mode trace"},
                    Refusal{"sampledrepeat",
                            [](RecordOptions& o) {
                              o.mode = "";
                              o.repeat = "1";
                            },
                            "--repeat goes with --mode trace"},
                    Refusal{"onfull", [](RecordOptions& o) { o.on_full = "block"; }, "'block'"}),
    [](const auto& refusal) { return refusal.param.what; });

TEST(StepOptions, WhatAFullBufferDoes) {
  EXPECT_EQ(PlanWith([](RecordOptions& o) { o.on_full = "drop"; }).value().request.trace.on_full, OnFull::kDrop);
  EXPECT_EQ(PlanWith([](RecordOptions& o) { o.on_full = "throttle"; }).value().request.trace.on_full,
            OnFull::kThrottle);
  EXPECT_EQ(PlanWith([](RecordOptions& o) { o.on_full = "stop"; }).value().request.trace.on_full, OnFull::kStop);
}

}  // namespace
}  // namespace ptrace_prof
