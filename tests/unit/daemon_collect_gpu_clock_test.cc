// From CUPTI's clock to ours: steps of the wall clock, and times that cannot be.
#include <gtest/gtest.h>

#include "daemon/collect/gpu_clock.h"

namespace ptrace_prof {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(GpuClock, StepsOfTheWallClockAreSeenAndLeftToTheirTime) {
  GpuClock clock;
  clock.AddPair(Nanos(1000 * kSecond), Nanos(10 * kSecond), Nanos(50));
  clock.AddPair(Nanos(1001 * kSecond + 30), Nanos(11 * kSecond), Nanos(60));
  EXPECT_EQ(clock.steps(), 0);
  EXPECT_EQ(clock.ToMonotonic(1000 * kSecond + 5).value, 10 * kSecond + 5);
  clock.AddPair(Nanos(1012 * kSecond), Nanos(12 * kSecond), Nanos(50));  // set forward by ten seconds
  EXPECT_EQ(clock.steps(), 1);
  EXPECT_EQ(clock.ToMonotonic(1001 * kSecond).value, 11 * kSecond);
  EXPECT_EQ(clock.ToMonotonic(1013 * kSecond).value, 13 * kSecond);
}

TEST(GpuClock, TimesThatCannotBeAreKnown) {
  GpuClock clock;
  EXPECT_TRUE(clock.IsPossible(1)) << "nothing is known yet";
  clock.AddPair(Nanos(1000 * kSecond), Nanos(10 * kSecond), Nanos(50));
  clock.Saw(Nanos(1002 * kSecond), Nanos(12 * kSecond));
  EXPECT_TRUE(clock.IsPossible(1000 * kSecond - 5));
  EXPECT_TRUE(clock.IsPossible(1002 * kSecond + 5));
  EXPECT_FALSE(clock.IsPossible(1002 * kSecond + 2 * kSecond));
  EXPECT_FALSE(clock.IsPossible(800 * kSecond));
  EXPECT_FALSE(clock.IsPossible(UINT64_MAX));
  clock.AddPair(Nanos(INT64_MAX), Nanos(13 * kSecond), Nanos(50));  // what a target may say
  clock.AddPair(Nanos(INT64_MIN), Nanos(14 * kSecond), Nanos(50));
  EXPECT_TRUE(clock.IsPossible(5));
}

}  // namespace
}  // namespace ptrace_prof
