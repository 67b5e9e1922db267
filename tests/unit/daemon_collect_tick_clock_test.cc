#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/collect/tick_clock.h"

namespace ptrace_prof {
namespace {

TEST(TickClock, InterpolatesBetweenAnchors) {
  TickClock clock(TickSource::kCounter);
  clock.AddAnchor({1'000, Nanos(500)});
  EXPECT_EQ(clock.At(2'000).value, 500);  // nothing is known of the rate
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
