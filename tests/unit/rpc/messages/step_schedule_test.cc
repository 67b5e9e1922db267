// The states of torch.profiler.schedule and the actions between them, spelled out as PyTorch does.
#include "rpc/messages/step_schedule.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/rpc/messages/asked_steps.h"

namespace ptrace_prof {
namespace {

using enum StepAction;
using enum StepDuty;

std::string Actions(const Schedule& asked, uint64_t steps) {
  const v1::StepSchedule schedule = MessageOf(asked);
  std::string text;
  for (uint64_t step = 0; step < steps; ++step) {
    text += "-wrS"[static_cast<size_t>(ActionAt(schedule, step))];
  }
  return text;
}

TEST(StepScheduleTest, GoesAsTorchs) {
  // schedule(wait=1, warmup=1, active=2, repeat=1): the example of PyTorch's recipe.
  EXPECT_EQ(Actions({.wait = 1, .warmup = 1, .active = 2, .repeat = 1}, 8), "-wrS----");
  EXPECT_EQ(Actions({.wait = 1, .warmup = 1, .active = 2, .repeat = 2}, 10), "-wrS-wrS--");
  EXPECT_EQ(Actions({.wait = 1, .warmup = 1, .active = 2}, 10), "-wrS-wrS-w");
  EXPECT_EQ(Actions({.skip_first = 3, .wait = 1, .warmup = 1, .active = 2, .repeat = 1}, 10), "----wrS---");
  EXPECT_EQ(Actions({.active = 1}, 4), "SSSS");
  EXPECT_EQ(Actions({.active = 3, .repeat = 1}, 5), "rrS--");
  EXPECT_EQ(Actions({.warmup = 2, .active = 1}, 6), "wwSwwS");
}

TEST(StepScheduleTest, TheFirstCycleMayHaveNoWait) {
  EXPECT_EQ(Actions({.wait = 3, .warmup = 1, .active = 1, .skip_first_wait = 1}, 12), "wS---wS---wS");
  EXPECT_EQ(Actions({.skip_first = 2, .wait = 3, .active = 2, .repeat = 2, .skip_first_wait = 7}, 12), "--rS---rS---");
  EXPECT_EQ(Actions({.active = 1, .repeat = 1, .skip_first_wait = 1}, 3), "S--");
  const v1::StepSchedule schedule = MessageOf({.wait = 3, .active = 1, .repeat = 2, .skip_first_wait = 1});
  EXPECT_FALSE(IsOverAt(schedule, 4));
  EXPECT_TRUE(IsOverAt(schedule, 5));
  EXPECT_EQ(PrintStepSchedule(schedule), "skip_first=0,wait=3,warmup=0,active=1,repeat=2,skip_first_wait=1");
}

TEST(StepScheduleTest, IsOverAfterItsRepeats) {
  const v1::StepSchedule schedule = MessageOf({.skip_first = 2, .wait = 1, .warmup = 1, .active = 1, .repeat = 2});
  EXPECT_FALSE(IsOverAt(schedule, 7));
  EXPECT_TRUE(IsOverAt(schedule, 8));
  EXPECT_FALSE(IsOverAt(MessageOf({.active = 1}), UINT64_MAX));
}

TEST(StepScheduleTest, DutiesAreTorchsTable) {
  const std::map<std::pair<StepAction, std::optional<StepAction>>, std::vector<StepDuty>> table = {
      {{kNone, kNone}, {}},
      {{kNone, kWarmup}, {kPrepare}},
      {{kNone, kRecord}, {kPrepare, kStart}},
      {{kNone, kRecordAndSave}, {kPrepare, kStart}},
      {{kWarmup, kNone}, {kWarnWarmupBeforeNone, kStart, kStop}},
      {{kWarmup, kWarmup}, {}},
      {{kWarmup, kRecord}, {kStart}},
      {{kWarmup, kRecordAndSave}, {kStart}},
      {{kRecord, kNone}, {kWarnRecordBeforeNone, kStop}},
      {{kRecord, kWarmup}, {kWarnRecordBeforeWarmup, kStop}},
      {{kRecord, kRecord}, {}},
      {{kRecord, kRecordAndSave}, {}},
      {{kRecordAndSave, kNone}, {kStop, kSave}},
      {{kRecordAndSave, kWarmup}, {kStop, kSave, kPrepare}},
      {{kRecordAndSave, kRecord}, {kStop, kSave, kPrepare, kStart}},
      {{kRecordAndSave, kRecordAndSave}, {kStop, kSave, kPrepare, kStart}},
      {{kNone, std::nullopt}, {}},
      {{kWarmup, std::nullopt}, {kStart, kStop}},
      {{kRecord, std::nullopt}, {kStop, kSave}},
      {{kRecordAndSave, std::nullopt}, {kStop, kSave}},
  };
  ASSERT_EQ(table.size(), 20);
  for (const auto& [pair, duties] : table) {
    const auto found = DutiesBetween(pair.first, pair.second);
    EXPECT_EQ(std::vector(found.begin(), found.end()), duties);
  }
}

TEST(StepScheduleTest, ReadsItsWords) {
  const auto schedule = ParseStepSchedule("active=3,wait=1,skip_first=10,repeat=2,warmup=4");
  ASSERT_TRUE(schedule.has_value());
  EXPECT_EQ(schedule.value().SerializeAsString(),
            MessageOf({.skip_first = 10, .wait = 1, .warmup = 4, .active = 3, .repeat = 2}).SerializeAsString());
  EXPECT_EQ(PrintStepSchedule(schedule.value()), "skip_first=10,wait=1,warmup=4,active=3,repeat=2");
  EXPECT_EQ(PrintStepSchedule(ParseStepSchedule(PrintStepSchedule(schedule.value())).value()),
            PrintStepSchedule(schedule.value()));
  EXPECT_EQ(CautionOf(schedule.value()), "");
  EXPECT_NE(CautionOf(MessageOf({.active = 1})), "");
}

TEST(StepScheduleTest, RefusesWhatIsNone) {
  for (const auto& [text, complaint] :
       std::map<std::string, std::string>{{"", "active"},
                                          {"wait=1", "active"},
                                          {"active=0", "active is \"0\""},
                                          {"active=-1", "active is \"-1\""},
                                          {"active=1x", "active is \"1x\""},
                                          {"active=1,active=2", "active is given twice"},
                                          {"active=1,,wait=1", "\"\""},
                                          {"active", "\"active\""},
                                          {"active=1,steps=4\x1b", "\"steps=4?\""},
                                          {"active=99999999999", "active is"}}) {
    const auto schedule = ParseStepSchedule(text);
    ASSERT_TRUE(schedule.has_error()) << text;
    EXPECT_EQ(schedule.error().code, Code::kInvalidArgument);
    EXPECT_NE(schedule.error().message.find(complaint), std::string::npos) << schedule.error().message;
    EXPECT_FALSE(schedule.error().remedy.empty());
  }
}

}  // namespace
}  // namespace ptrace_prof
