#include <gtest/gtest.h>

#include "daemon/collect/round_times.h"

namespace ptrace_prof {
namespace {

// At most an eighth above what was asked for.
void ExpectAbout(Nanos found, int64_t nanos) {
  EXPECT_GT(found.value, nanos);
  EXPECT_LE(found.value, nanos + nanos / 8 + 1);
}

TEST(RoundTimes, NothingYetIsNoTime) { EXPECT_EQ(RoundTimes().Usual(), Nanos(0)); }

TEST(RoundTimes, EqualRounds) {
  for (const int64_t nanos : {9, 100, 4'000, 1'000'000, 2'000'000'000}) {
    RoundTimes times;
    times.Add(Nanos(nanos));
    ExpectAbout(times.Usual(), nanos);
  }
}

TEST(RoundTimes, AFewLongOnesDoNotCount) {
  RoundTimes times;
  for (int i = 0; i < 3200; ++i) {
    times.Add(Nanos(i % 33 == 0 ? 80'000 : 4'000));
  }
  ExpectAbout(times.Usual(), 4'000);
}

TEST(RoundTimes, OneOfTenCounts) {
  RoundTimes times;
  for (int i = 0; i < 1000; ++i) {
    times.Add(Nanos(i % 10 == 0 ? 9'000 : 4'000));
  }
  ExpectAbout(times.Usual(), 9'000);
}

TEST(RoundTimes, ThePastIsForgotten) {
  RoundTimes times;
  for (int i = 0; i < 1 << 20; ++i) {
    times.Add(Nanos(50'000));
  }
  for (int i = 0; i < 6 << 20; ++i) {
    times.Add(Nanos(4'000));
  }
  ExpectAbout(times.Usual(), 4'000);
}

TEST(RoundTimes, AbsurdTimesAreTaken) {
  RoundTimes times;
  times.Add(Nanos(-5));
  times.Add(Nanos(INT64_MAX));
  EXPECT_GT(times.Usual(), Nanos(1'000'000'000));
}

}  // namespace
}  // namespace ptrace_prof
