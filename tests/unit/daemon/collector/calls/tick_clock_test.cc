#include "daemon/collector/calls/tick_clock.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrace_prof {
namespace {

TEST(TickClock, InterpolatesBetweenAnchors) {
  TickClock clock(TickSource::kCounter);
  clock.AddAnchor({1'000, Nanos(500)});
  EXPECT_EQ(clock.At(2'000).value, 500);  // the rate is unknown
  clock.AddAnchor({3'000, Nanos(1'500)});
  EXPECT_EQ(clock.At(1'000).value, 500);
  EXPECT_EQ(clock.At(2'000).value, 1'000);
  EXPECT_EQ(clock.At(3'000).value, 1'500);
  EXPECT_EQ(clock.TicksIn(Nanos(10)), 20u);
}

TEST(TickClock, ItsLineSaysTheSame) {
  TickClock clock(TickSource::kCounter);
  clock.AddAnchor({1'000, Nanos(500)});
  EXPECT_EQ(clock.Line().ToNanos(2'000), clock.At(2'000));
  clock.AddAnchor({3'000'001'000, Nanos(1'000'000'500)});
  for (const uint64_t ticks :
       {uint64_t{1'000}, uint64_t{1'500'000'000}, uint64_t{3'000'001'000}, uint64_t{3'100'000'000}}) {
    EXPECT_NEAR(static_cast<double>(clock.Line().ToNanos(ticks).value), static_cast<double>(clock.At(ticks).value), 2);
  }
  EXPECT_EQ(TickClock(TickSource::kMonotonic).Line().ToNanos(12'345), Nanos(12'345));
}

TEST(TickClock, TimesOfRecordsAreTheNearestToItsAnchors) {
  constexpr uint64_t kOfRecord = UINT64_MAX >> PP_TAG_BITS;  // the largest time of a record: the next one is 0
  TickClock clock(TickSource::kCounter);
  clock.AddAnchor({kOfRecord - 1'000, Nanos(500'000)});
  clock.AddAnchor({kOfRecord + 1'001, Nanos(501'001)});
  for (const uint64_t ticks : {kOfRecord - 3'000, kOfRecord, kOfRecord + 1, kOfRecord + 5'000}) {
    EXPECT_NEAR(static_cast<double>(clock.Line().ToNanos(PP_AS_WHEN(ticks)).value),
                static_cast<double>(clock.At(ticks).value), 2);
  }
  const Nanos late(int64_t{10} * 366 * 86'400 * 1'000'000'000);  // a machine that has been up for ten years
  const TickMap line = TickMap::Monotonic(late);
  EXPECT_EQ(line.ToNanos(PP_AS_WHEN(late.value + 7)), late + Nanos(7));
  EXPECT_EQ(line.ToNanos(PP_AS_WHEN(late.value - 7)), late - Nanos(7));
}

TEST(TickClock, StaysContinuousWhenTheRateChanges) {
  TickClock clock(TickSource::kCounter);
  clock.AddAnchor({1'000, Nanos(1'000)});
  clock.AddAnchor({2'000, Nanos(2'000)});
  const Nanos before = clock.At(2'000);
  clock.AddAnchor({3'000, Nanos(4'000)});
  EXPECT_EQ(clock.At(2'000), before);
  EXPECT_EQ(clock.At(3'000).value, 4'000);
}

TEST(TickClock, IgnoresAnchorsThatGoBack) {
  TickClock clock(TickSource::kCounter);
  clock.AddAnchor({1'000, Nanos(1'000)});
  clock.AddAnchor({2'000, Nanos(2'000)});
  clock.AddAnchor({1'500, Nanos(2'500)});
  clock.AddAnchor({2'500, Nanos(1'500)});
  EXPECT_EQ(clock.At(2'000).value, 2'000);
}

TEST(TickClock, FollowsTheRealClock) {
  for (const TickSource source : {FitTickSource(), TickSource::kMonotonic}) {
    TickClock clock(source);
    clock.AddAnchor();
    (void)clock.TicksIn(Nanos::FromMillis(1));
    const Nanos before = MonotonicNow();
    const uint64_t ticks = clock.Ticks();
    const Nanos after = MonotonicNow();
    clock.AddAnchor();
    const int64_t slack = 200'000;  // an anchor may have been interrupted
    EXPECT_GE(clock.At(ticks).value, before.value - slack);
    EXPECT_LE(clock.At(ticks).value, after.value + slack);
  }
}

}  // namespace
}  // namespace ptrace_prof
