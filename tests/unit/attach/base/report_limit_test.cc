#include <gtest/gtest.h>

#include "attach/base/user_report_limits.h"

namespace ptrace_prof {
namespace {

TEST(ReportLimit, ReportsTenASecondAndHowManyItDidNot) {
  ReportLimit limit;
  const Nanos begin = Nanos::FromSeconds(5);
  for (size_t i = 0; i < ReportLimit::kTimesASecond; ++i) {
    EXPECT_EQ(limit.Report(begin), 0U);
  }
  EXPECT_FALSE(limit.Report(begin + Nanos::FromMillis(1)).has_value());
  EXPECT_FALSE(limit.Report(begin + Nanos::FromMillis(999)).has_value());
  EXPECT_EQ(limit.Report(begin + Nanos::FromMillis(1001)), 2U);
  EXPECT_EQ(limit.Report(begin + Nanos::FromMillis(1002)), 0U);
}

TEST(UserReportLimits, OneDoesNotHideAnother) {
  UserReportLimits users;
  const Nanos begin = Nanos::FromSeconds(5);
  for (size_t i = 0; i < 3 * ReportLimit::kTimesASecond; ++i) {
    EXPECT_EQ(users.Report(1001, begin).has_value(), i < ReportLimit::kTimesASecond);
  }
  EXPECT_EQ(users.Report(1002, begin), 0U);
  EXPECT_EQ(users.Report(1001, begin + Nanos::FromMillis(1001)), 2 * ReportLimit::kTimesASecond);
}

TEST(UserReportLimits, ThoseBeyondTheirNumberShareOne) {
  UserReportLimits users;
  const Nanos begin = Nanos::FromSeconds(5);
  size_t reported = 0;
  for (uint32_t user = 0; user < 2 * UserReportLimits::kMostUsers; ++user) {
    reported += users.Report(user, begin).has_value() ? 1 : 0;
  }
  EXPECT_EQ(reported, UserReportLimits::kMostUsers + ReportLimit::kTimesASecond);
}

}  // namespace
}  // namespace ptrace_prof
