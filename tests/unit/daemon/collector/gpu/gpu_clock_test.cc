// From CUPTI's clock to ours: steps of the wall clock, and impossible times.
#include "daemon/collector/gpu/gpu_clock.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

constexpr int64_t kClockSecond = 1'000'000'000;

TEST(GpuClock, StepsOfTheWallClockAreSeenAndLeftToTheirTime) {
  GpuClock clock;
  clock.AddPair(Nanos(1000 * kClockSecond), Nanos(10 * kClockSecond), Nanos(50));
  clock.AddPair(Nanos(1001 * kClockSecond + 30), Nanos(11 * kClockSecond), Nanos(60));
  EXPECT_EQ(clock.steps(), 0);
  EXPECT_EQ(clock.ToMonotonic(1000 * kClockSecond + 5).value, 10 * kClockSecond + 5);
  clock.AddPair(Nanos(1012 * kClockSecond), Nanos(12 * kClockSecond), Nanos(50));  // set forward by ten seconds
  EXPECT_EQ(clock.steps(), 1);
  EXPECT_EQ(clock.ToMonotonic(1001 * kClockSecond).value, 11 * kClockSecond);
  EXPECT_EQ(clock.ToMonotonic(1013 * kClockSecond).value, 13 * kClockSecond);
}

TEST(GpuClock, TimesThatCannotBeAreKnown) {
  GpuClock clock;
  EXPECT_TRUE(clock.IsPossible(1)) << "nothing is known yet";
  clock.AddPair(Nanos(1000 * kClockSecond), Nanos(10 * kClockSecond), Nanos(50));
  clock.Saw(Nanos(1002 * kClockSecond), Nanos(12 * kClockSecond));
  EXPECT_TRUE(clock.IsPossible(1000 * kClockSecond - 5));
  EXPECT_TRUE(clock.IsPossible(1002 * kClockSecond + 5));
  EXPECT_FALSE(clock.IsPossible(1002 * kClockSecond + 2 * kClockSecond));
  EXPECT_FALSE(clock.IsPossible(800 * kClockSecond));
  EXPECT_FALSE(clock.IsPossible(UINT64_MAX));
  clock.AddPair(Nanos(INT64_MAX), Nanos(13 * kClockSecond), Nanos(50));  // a target may send such values
  clock.AddPair(Nanos(INT64_MIN), Nanos(14 * kClockSecond), Nanos(50));
  EXPECT_TRUE(clock.IsPossible(5));
}

constexpr int64_t kClockMilli = 1'000'000;
constexpr int64_t kClockBegin = 500 * kClockSecond;

uint64_t ClockCounter(int64_t monotonic) { return static_cast<uint64_t>(monotonic) * 5 / 2 + 987'654'321; }

// A pair each tenth of a second, from `begin` on until before `end` tenths.
void AddPairs(GpuClock& clock, int begin, int end, int64_t set = 0) {
  for (int i = begin; i < end; ++i) {
    const int64_t at = kClockBegin + i * 100 * kClockMilli;
    clock.AddPair(Nanos(static_cast<int64_t>(ClockCounter(at + set))), Nanos(at), Nanos(100));
  }
}

TEST(GpuClock, OfAClockThatIsNotFittedYetNoTimeIsReported) {
  GpuClock clock;
  clock.SetFitted();
  EXPECT_FALSE(clock.is_known());
  EXPECT_FALSE(clock.IsPossible(ClockCounter(kClockBegin)));
  AddPairs(clock, 0, 1);
  EXPECT_FALSE(clock.is_known());
  for (const int64_t at : {kClockBegin, kClockBegin + 50 * kClockMilli, int64_t{0}}) {
    EXPECT_FALSE(clock.IsPossible(ClockCounter(at))) << "one reading says nothing of others";
    EXPECT_FALSE(clock.IsReported(ClockCounter(at)));
  }
  EXPECT_GT(clock.unsure().value, 1000 * kClockSecond) << "nobody knows when anything was";
  AddPairs(clock, 1, 4);
  EXPECT_TRUE(clock.is_known());
  EXPECT_TRUE(clock.is_settled());
  EXPECT_TRUE(clock.IsPossible(ClockCounter(kClockBegin + 50 * kClockMilli)));
  EXPECT_EQ(clock.ToMonotonic(ClockCounter(kClockBegin + 50 * kClockMilli)).value, kClockBegin + 50 * kClockMilli);
  EXPECT_EQ(clock.unsure().value, 0);
  EXPECT_EQ(clock.last_pair().value, kClockBegin + 300 * kClockMilli);
}

TEST(GpuClock, TimesThatCannotBeAreKnownOfAFittedClock) {
  GpuClock clock;
  clock.SetFitted();
  AddPairs(clock, 0, 10);
  clock.Saw(Nanos(5), Nanos(kClockBegin + 2 * kClockSecond));
  EXPECT_TRUE(clock.IsPossible(ClockCounter(kClockBegin - kClockSecond)));
  EXPECT_TRUE(clock.IsPossible(ClockCounter(kClockBegin + 2 * kClockSecond)));
  EXPECT_FALSE(clock.IsPossible(0));
  EXPECT_FALSE(clock.IsPossible(ClockCounter(kClockBegin + 4 * kClockSecond)));
  EXPECT_FALSE(clock.IsPossible(ClockCounter(kClockBegin - 100 * kClockSecond)));
  EXPECT_FALSE(clock.IsPossible(UINT64_MAX));
  clock.AddPair(Nanos(7), Nanos(kClockBegin + 3 * kClockSecond), Nanos(2 * kClockSecond));  // too wide to mean anything
  EXPECT_EQ(clock.steps(), 0);
}

TEST(GpuClock, TheTimeAroundAStepOfAFittedClockIsUnsure) {
  GpuClock clock;
  clock.SetFitted();
  AddPairs(clock, 0, 10);
  AddPairs(clock, 10, 11, 30 * kClockSecond);
  EXPECT_EQ(clock.steps(), 1);
  EXPECT_FALSE(clock.is_settled());
  EXPECT_TRUE(clock.is_known());
  EXPECT_FALSE(clock.IsPossible(ClockCounter(kClockBegin + kClockSecond + 30 * kClockSecond)));
  EXPECT_TRUE(clock.IsPossible(ClockCounter(kClockBegin + 800 * kClockMilli)));
  AddPairs(clock, 11, 20, 30 * kClockSecond);
  EXPECT_TRUE(clock.is_settled());
  EXPECT_EQ(clock.steps(), 1);
  EXPECT_EQ(clock.unsure().value, 100 * kClockMilli);
  EXPECT_EQ(clock.ToMonotonic(ClockCounter(kClockBegin + 1500 * kClockMilli + 30 * kClockSecond)).value,
            kClockBegin + 1500 * kClockMilli);
  EXPECT_EQ(clock.ToMonotonic(ClockCounter(kClockBegin + 500 * kClockMilli)).value, kClockBegin + 500 * kClockMilli);
}

}  // namespace
}  // namespace ptrace_prof
