// Which functions are switched off, in which order and in which steps. The target is a list of the requests to it.
#include "daemon/collector/calls/call_budget.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace ptrace_prof {
namespace {

class CallBudgetTest : public testing::Test {
 public:
  void Call(char name, uint64_t times, bool is_leaf = true) {
    for (uint64_t i = 0; i < times; ++i) {
      budget.OnBegin(At(name));
      if (is_leaf) {
        budget.OnLeafEnd(At(name));
      }
    }
    events += 2 * times;
  }
  void Pass(int64_t milliseconds) {
    now = now + Nanos::FromMillis(milliseconds);
    budget.Weigh(now, events);
  }
  static RemoteAddr At(char name) { return RemoteAddr(static_cast<uint64_t>(name)); }

  std::string asked;
  std::set<RemoteAddr> open;
  Nanos now = Nanos::FromSeconds(1);
  uint64_t events = 0;
  CallBudget budget{0.01,
                    {.switch_off =
                         [this](RemoteAddr code, CallBudget::Step step) {
                           asked += fmt::format("{}{} ", static_cast<char>(code.value),
                                                step == CallBudget::Step::kAll ? "!" : "");
                           return code != At('r');
                         },
                     .is_open = [this](RemoteAddr code) { return open.contains(code); },
                     .name_of = [](RemoteAddr code) { return std::string(1, static_cast<char>(code.value)); }}};
};

// 1 % of 250 ms is 2.5 ms: at 10 ns an event, 250,000 events.
TEST_F(CallBudgetTest, WhatFitsStays) {
  budget.SetEventCost(10);
  Pass(0);
  Call('a', 125'000);
  Pass(250);
  EXPECT_EQ(asked, "");
  EXPECT_TRUE(budget.Rows().empty());
}

TEST_F(CallBudgetTest, TheNoisiestLeavesGoUntilTheRestFits) {
  budget.SetEventCost(10);
  Pass(0);
  Call('a', 100'000);
  Call('b', 150'000);
  Call('c', 20'000);
  Call('m', 200'000, false);
  Pass(250);  // 940,000 events: 690,000 too many; all leaves are not enough
  EXPECT_EQ(asked, "b a c ");
  Call('b', 7);  // calls others in between
  EXPECT_EQ(budget.Rows()[0], (LeftOut{LeftOutCause::kOverhead, "b", 1, 150'007, true}));
  asked.clear();
  Call('m', 200'000);  // now a leaf
  Pass(250);
  EXPECT_EQ(asked, "m ");
  Pass(100);
  EXPECT_EQ(asked, "m b! a! c! ");
}

TEST_F(CallBudgetTest, NoMoreThanNeeded) {
  budget.SetEventCost(10);
  Pass(0);
  Call('a', 100'000);
  Call('b', 90'000);
  Pass(250);
  EXPECT_EQ(asked, "a ");
}

TEST_F(CallBudgetTest, OpenCallsKeepTheirEnds) {
  budget.SetEventCost(10);
  Pass(0);
  Call('a', 200'000);
  Pass(250);
  open = {At('a')};
  Pass(100);
  Pass(100);
  EXPECT_EQ(asked, "a ");
  open.clear();
  Pass(10);
  EXPECT_EQ(asked, "a ");
  Pass(100);
  EXPECT_EQ(asked, "a a! ");
  Pass(100);
  EXPECT_EQ(asked, "a a! ");
}

TEST_F(CallBudgetTest, WhatCannotBeSwitchedOffIsAskedOnce) {
  budget.SetEventCost(10);
  Pass(0);
  for (int i = 0; i < 3; ++i) {
    Call('r', 200'000);
    Pass(250);
  }
  EXPECT_EQ(asked, "r ");
  EXPECT_TRUE(budget.Rows().empty());
}

TEST_F(CallBudgetTest, WithoutALimitNothingHappens) {
  CallBudget none(0, {});
  EXPECT_FALSE(none.IsInUse());
  none.Weigh(now, 1'000'000'000);
}

}  // namespace
}  // namespace ptrace_prof
