// Numbers with units, as a command line and a policy have them.

#include "rpc/messages/quantity.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

TEST(Quantity, Durations) {
  EXPECT_EQ(ParseDuration("10").value(), Nanos::FromSeconds(10));
  EXPECT_EQ(ParseDuration("10s").value(), Nanos::FromSeconds(10));
  EXPECT_EQ(ParseDuration("1.5m").value(), Nanos::FromSeconds(90));
  EXPECT_EQ(ParseDuration("500ms").value(), Nanos::FromMillis(500));
  EXPECT_EQ(ParseDuration("10us").value(), Nanos(10'000));
  EXPECT_EQ(ParseDuration("2min").value(), Nanos::FromSeconds(120));
  EXPECT_EQ(ParseDuration("1h").value(), Nanos::FromSeconds(3600));
  EXPECT_EQ(ParseDuration("2 d").value(), Nanos::FromSeconds(2 * 86400));
  for (const char* wrong : {"", "s", "0", "-1", "10x", "1s2", "1e400", "nan", "inf", "367d", "5 fortnights"}) {
    ASSERT_TRUE(ParseDuration(wrong).has_error()) << wrong;
    EXPECT_EQ(ParseDuration(wrong).error().code, Code::kInvalidArgument);
    EXPECT_NE(ParseDuration(wrong).error().remedy, "");
  }
}

TEST(Quantity, Rates) {
  EXPECT_EQ(ParseRate("500").value(), 500);
  EXPECT_EQ(ParseRate("500hz").value(), 500);
  EXPECT_EQ(ParseRate("1khz").value(), 1000);
  EXPECT_EQ(ParseRate("0.5").value(), 0.5);
  for (const char* wrong : {"", "-5", "1mhz", "fast", "nan", "inf"}) {
    EXPECT_TRUE(ParseRate(wrong).has_error()) << wrong;
  }
}

TEST(Quantity, Percents) {
  EXPECT_DOUBLE_EQ(ParsePercent("1%").value(), 0.01);
  EXPECT_DOUBLE_EQ(ParsePercent("1").value(), 0.01);
  EXPECT_DOUBLE_EQ(ParsePercent("0.5 %").value(), 0.005);
  EXPECT_DOUBLE_EQ(ParsePercent("100%").value(), 1);
  for (const char* wrong : {"", "0", "0%", "%", "-1%", "one", "1%%", "101%", "nan%"}) {
    EXPECT_TRUE(ParsePercent(wrong).has_error()) << wrong;
  }
}

TEST(Quantity, Sizes) {
  EXPECT_EQ(ParseSize("1").value(), 1U);
  EXPECT_EQ(ParseSize("64M").value(), 64U << 20);
  EXPECT_EQ(ParseSize("500MB").value(), 500U << 20);
  EXPECT_EQ(ParseSize("1.5 KiB").value(), 1536U);
  EXPECT_EQ(ParseSize("2TB").value(), uint64_t{2} << 40);
  for (const char* wrong : {"", "GB", "0", "0.5", "-1", "1eb", "9999999TB", "1 GB more"}) {
    EXPECT_TRUE(ParseSize(wrong).has_error()) << wrong;
  }
}

}  // namespace
}  // namespace ptrace_prof
