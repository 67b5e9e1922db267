#include <gtest/gtest.h>

#include "daemon/policy/amount_text.h"

namespace ptrace_prof {
namespace {

TEST(AmountText, ReadsTimes) {
  EXPECT_EQ(ParseDuration("90"), Nanos::FromSeconds(90));
  EXPECT_EQ(ParseDuration("1.5m"), Nanos::FromSeconds(90));
  EXPECT_EQ(ParseDuration("200ms"), Nanos::FromMillis(200));
  EXPECT_EQ(ParseDuration("2 h"), Nanos::FromSeconds(7200));
  for (const char* text : {"", "s", "0", "-1s", "nan", "inf", "1e400s", "5 fortnights", "1s2", "367d"}) {
    EXPECT_FALSE(ParseDuration(text).has_value()) << text;
  }
}

TEST(AmountText, ReadsSizes) {
  EXPECT_EQ(ParseSize("1"), 1U);
  EXPECT_EQ(ParseSize("500MB"), 500U << 20);
  EXPECT_EQ(ParseSize("1.5 KiB"), 1536U);
  EXPECT_EQ(ParseSize("2TB"), uint64_t{2} << 40);
  for (const char* text : {"", "GB", "0", "0.5", "-1", "1eb", "9999999TB", "1 GB more"}) {
    EXPECT_FALSE(ParseSize(text).has_value()) << text;
  }
}

TEST(AmountText, ReadsShares) {
  EXPECT_DOUBLE_EQ(ParseShare("10%").value(), 0.1);
  EXPECT_DOUBLE_EQ(ParseShare("0.5 %").value(), 0.005);
  EXPECT_DOUBLE_EQ(ParseShare("100%").value(), 1);
  for (const char* text : {"", "%", "10", "0%", "-1%", "101%", "nan%", "10%%"}) {
    EXPECT_FALSE(ParseShare(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace ptrace_prof
