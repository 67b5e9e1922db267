#include <gtest/gtest.h>

#include "attach/base/told_limit.h"

namespace ptrace_prof {
namespace {

TEST(ToldLimit, TellsTenASecondAndHowManyItDidNot) {
  ToldLimit limit;
  const Nanos begin = Nanos::FromSeconds(5);
  for (size_t i = 0; i < ToldLimit::kTimesASecond; ++i) {
    EXPECT_EQ(limit.Tell(begin), 0U);
  }
  EXPECT_FALSE(limit.Tell(begin + Nanos::FromMillis(1)).has_value());
  EXPECT_FALSE(limit.Tell(begin + Nanos::FromMillis(999)).has_value());
  EXPECT_EQ(limit.Tell(begin + Nanos::FromMillis(1001)), 2U);
  EXPECT_EQ(limit.Tell(begin + Nanos::FromMillis(1002)), 0U);
}

}  // namespace
}  // namespace ptrace_prof
