#include <gtest/gtest.h>

#include "client/cli/option_values.h"

namespace ptrace_prof {
namespace {

TEST(OptionValues, Durations) {
  EXPECT_EQ(ParseDuration("10").value(), Nanos::FromSeconds(10));
  EXPECT_EQ(ParseDuration("10s").value(), Nanos::FromSeconds(10));
  EXPECT_EQ(ParseDuration("1.5s").value(), Nanos::FromMillis(1500));
  EXPECT_EQ(ParseDuration("500ms").value(), Nanos::FromMillis(500));
  EXPECT_EQ(ParseDuration("2m").value(), Nanos::FromSeconds(120));
  EXPECT_EQ(ParseDuration("1h").value(), Nanos::FromSeconds(3600));
  for (const char* wrong : {"", "s", "0", "-1", "10x", "10 s", "1e400", "nan", "inf", "2d", "99999999h"}) {
    ASSERT_TRUE(ParseDuration(wrong).has_error()) << wrong;
    EXPECT_EQ(ParseDuration(wrong).error().code, Code::kInvalidArgument);
    EXPECT_NE(ParseDuration(wrong).error().remedy, "");
  }
}

TEST(OptionValues, Rates) {
  EXPECT_EQ(ParseRate("500").value(), 500);
  EXPECT_EQ(ParseRate("500hz").value(), 500);
  EXPECT_EQ(ParseRate("1khz").value(), 1000);
  EXPECT_EQ(ParseRate("0.5").value(), 0.5);
  EXPECT_EQ(ParseRate("max").value(), 0);
  for (const char* wrong : {"", "0", "-5", "1mhz", "200001", "fast"}) {
    EXPECT_TRUE(ParseRate(wrong).has_error()) << wrong;
  }
}

TEST(OptionValues, Percents) {
  EXPECT_DOUBLE_EQ(ParsePercent("1%").value(), 0.01);
  EXPECT_DOUBLE_EQ(ParsePercent("1").value(), 0.01);
  EXPECT_DOUBLE_EQ(ParsePercent("100%").value(), 1);
  EXPECT_TRUE(ParsePercent("101%").has_error());
  EXPECT_DOUBLE_EQ(ParsePercent("off").value(), 0);
  for (const char* wrong : {"", "0", "0%", "%", "-1%", "one", "1%%"}) {
    EXPECT_TRUE(ParsePercent(wrong).has_error()) << wrong;
  }
}

TEST(OptionValues, ThreadsAndPids) {
  EXPECT_EQ(ParseThreads("12").value(), std::vector<Tid>{Tid(12)});
  EXPECT_EQ(ParseThreads("12,14").value(), (std::vector<Tid>{Tid(12), Tid(14)}));
  for (const char* wrong : {"", ",", "12,", ",12", "12 ,13", "0", "-4", "MainThread", "99999999999"}) {
    EXPECT_TRUE(ParseThreads(wrong).has_error()) << wrong;
  }
  EXPECT_EQ(ParsePid("4711").value(), Pid(4711));
  EXPECT_TRUE(ParsePid("0").has_error());
  EXPECT_TRUE(ParsePid("47x").has_error());
}

TEST(OptionValues, Idle) {
  EXPECT_EQ(ParseIdle("main").value(), IdlePolicy::kMain);
  EXPECT_EQ(ParseIdle("all").value(), IdlePolicy::kAll);
  EXPECT_EQ(ParseIdle("none").value(), IdlePolicy::kNone);
  EXPECT_TRUE(ParseIdle("some").has_error());
}

}  // namespace
}  // namespace ptrace_prof
