#include "daemon/collector/sample/round_times.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

// Expects at most an eighth more than `nanos`.
void ExpectAbout(Nanos found, int64_t nanos) {
  EXPECT_GT(found.value, nanos);
  EXPECT_LE(found.value, nanos + nanos / 8 + 1);
}

void AddStretches(RoundTimes& times, int64_t nanos, int stretches = 1) {
  for (int64_t i = 0; i < stretches * RoundTimes::kStretch; ++i) {
    times.Add(Nanos(nanos));
  }
}

TEST(RoundTimes, NothingYetIsNoTime) { EXPECT_EQ(RoundTimes().Usual(), Nanos(0)); }

TEST(RoundTimes, EqualRounds) {
  for (const int64_t nanos : {9, 100, 4'000, 1'000'000, 2'000'000'000}) {
    RoundTimes times;
    AddStretches(times, nanos);
    ExpectAbout(times.Usual(), nanos);
  }
}

TEST(RoundTimes, HalfAStretchDoesNotCount) {
  RoundTimes times;
  for (int64_t i = 0; i < RoundTimes::kStretch / 2; ++i) {
    times.Add(Nanos(4'000));
  }
  EXPECT_EQ(times.Usual(), Nanos(0));
}

TEST(RoundTimes, TheLongestOfAStretchDoesNotCount) {
  RoundTimes times;
  for (int64_t i = 0; i < 3200 * RoundTimes::kStretch; ++i) {
    times.Add(Nanos(i % RoundTimes::kStretch == 5 ? 80'000 : 4'000));
  }
  ExpectAbout(times.Usual(), 4'000);
}

TEST(RoundTimes, AFewLongStretchesDoNotCount) {
  RoundTimes times;
  for (int i = 0; i < 3300; ++i) {
    AddStretches(times, i % 33 == 0 ? 80'000 : 4'000);
  }
  ExpectAbout(times.Usual(), 4'000);
}

TEST(RoundTimes, OneStretchOfTenCounts) {
  RoundTimes times;
  for (int i = 0; i < 1000; ++i) {
    AddStretches(times, i % 10 == 0 ? 9'000 : 4'000);
  }
  ExpectAbout(times.Usual(), 9'000);
}

TEST(RoundTimes, OfAStretchTheMeanCounts) {
  RoundTimes times;
  for (int64_t i = 0; i < 100 * RoundTimes::kStretch; ++i) {
    times.Add(Nanos(i % 3 == 0 ? 9'000 : 3'000));
  }
  EXPECT_GT(times.Usual(), Nanos(4'000));
  EXPECT_LT(times.Usual(), Nanos(6'000));
}

TEST(RoundTimes, ThePastIsForgotten) {
  RoundTimes times;
  AddStretches(times, 50'000, 1 << 16);
  AddStretches(times, 4'000, 6 << 16);
  ExpectAbout(times.Usual(), 4'000);
}

TEST(RoundTimes, AbsurdTimesAreTaken) {
  RoundTimes times;
  times.Add(Nanos(-5));
  for (int64_t i = 0; i < RoundTimes::kStretch; ++i) {
    times.Add(Nanos(INT64_MAX));
  }
  EXPECT_GT(times.Usual(), Nanos(1'000'000'000));
}

}  // namespace
}  // namespace ptrace_prof
