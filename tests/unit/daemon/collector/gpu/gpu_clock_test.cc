// From CUPTI's clock to ours: steps of the wall clock, and impossible times.
#include "daemon/collector/gpu/gpu_clock.h"

#include <gtest/gtest.h>

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
  clock.AddPair(Nanos(INT64_MAX), Nanos(13 * kSecond), Nanos(50));  // a target may send such values
  clock.AddPair(Nanos(INT64_MIN), Nanos(14 * kSecond), Nanos(50));
  EXPECT_TRUE(clock.IsPossible(5));
}

constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kBegin = 500 * kSecond;

uint64_t Counter(int64_t monotonic) { return static_cast<uint64_t>(monotonic) * 5 / 2 + 987'654'321; }

// A pair each tenth of a second, from `begin` on until before `end` tenths.
void AddPairs(GpuClock& clock, int begin, int end, int64_t set = 0) {
  for (int i = begin; i < end; ++i) {
    const int64_t at = kBegin + i * 100 * kMilli;
    clock.AddPair(Nanos(static_cast<int64_t>(Counter(at + set))), Nanos(at), Nanos(100));
  }
}

TEST(GpuClock, OfAClockThatIsNotFittedYetNoTimeIsReported) {
  GpuClock clock;
  clock.SetFitted();
  EXPECT_FALSE(clock.is_known());
  EXPECT_FALSE(clock.IsPossible(Counter(kBegin)));
  AddPairs(clock, 0, 1);
  EXPECT_FALSE(clock.is_known());
  for (const int64_t at : {kBegin, kBegin + 50 * kMilli, int64_t{0}}) {
    EXPECT_FALSE(clock.IsPossible(Counter(at))) << "one reading says nothing of others";
    EXPECT_FALSE(clock.IsReported(Counter(at)));
  }
  EXPECT_GT(clock.unsure().value, 1000 * kSecond) << "nobody knows when anything was";
  AddPairs(clock, 1, 4);
  EXPECT_TRUE(clock.is_known());
  EXPECT_TRUE(clock.is_settled());
  EXPECT_TRUE(clock.IsPossible(Counter(kBegin + 50 * kMilli)));
  EXPECT_EQ(clock.ToMonotonic(Counter(kBegin + 50 * kMilli)).value, kBegin + 50 * kMilli);
  EXPECT_EQ(clock.unsure().value, 0);
  EXPECT_EQ(clock.last_pair().value, kBegin + 300 * kMilli);
}

TEST(GpuClock, TimesThatCannotBeAreKnownOfAFittedClock) {
  GpuClock clock;
  clock.SetFitted();
  AddPairs(clock, 0, 10);
  clock.Saw(Nanos(5), Nanos(kBegin + 2 * kSecond));
  EXPECT_TRUE(clock.IsPossible(Counter(kBegin - kSecond)));
  EXPECT_TRUE(clock.IsPossible(Counter(kBegin + 2 * kSecond)));
  EXPECT_FALSE(clock.IsPossible(0));
  EXPECT_FALSE(clock.IsPossible(Counter(kBegin + 4 * kSecond)));
  EXPECT_FALSE(clock.IsPossible(Counter(kBegin - 100 * kSecond)));
  EXPECT_FALSE(clock.IsPossible(UINT64_MAX));
  clock.AddPair(Nanos(7), Nanos(kBegin + 3 * kSecond), Nanos(2 * kSecond));  // too wide to mean anything
  EXPECT_EQ(clock.steps(), 0);
}

TEST(GpuClock, TheTimeAroundAStepOfAFittedClockIsUnsure) {
  GpuClock clock;
  clock.SetFitted();
  AddPairs(clock, 0, 10);
  AddPairs(clock, 10, 11, 30 * kSecond);
  EXPECT_EQ(clock.steps(), 1);
  EXPECT_FALSE(clock.is_settled());
  EXPECT_TRUE(clock.is_known());
  EXPECT_FALSE(clock.IsPossible(Counter(kBegin + kSecond + 30 * kSecond)));
  EXPECT_TRUE(clock.IsPossible(Counter(kBegin + 800 * kMilli)));
  AddPairs(clock, 11, 20, 30 * kSecond);
  EXPECT_TRUE(clock.is_settled());
  EXPECT_EQ(clock.steps(), 1);
  EXPECT_EQ(clock.unsure().value, 100 * kMilli);
  EXPECT_EQ(clock.ToMonotonic(Counter(kBegin + 1500 * kMilli + 30 * kSecond)).value, kBegin + 1500 * kMilli);
  EXPECT_EQ(clock.ToMonotonic(Counter(kBegin + 500 * kMilli)).value, kBegin + 500 * kMilli);
}

}  // namespace
}  // namespace ptrace_prof
