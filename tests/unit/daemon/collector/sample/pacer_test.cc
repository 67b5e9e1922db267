#include "daemon/collector/sample/pacer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace ptrace_prof {
namespace {

TEST(Pacer, AsFastAsMayBeGoesOn) {
  Pacer pacer(0, {});
  const std::atomic<bool> stop{false};
  const Nanos before = MonotonicNow();
  EXPECT_GE(pacer.Wait(Nanos(INT64_MAX), stop, false), before);
  EXPECT_EQ(pacer.Next(before, before + Nanos(1)), before + Nanos(1));
}

TEST(Pacer, DoesNotSleepPastTheEnd) {
  Pacer pacer(1, {});
  const std::atomic<bool> stop{false};
  const Nanos until = MonotonicNow() + Nanos::FromMillis(5);
  EXPECT_GE(pacer.Wait(until, stop, false), until);
}

TEST(Pacer, AStopEndsTheWait) {
  Pacer pacer(1, {});
  const std::atomic<bool> stop{true};
  pacer.Wait(Nanos(INT64_MAX), stop, false);
}

TEST(Pacer, ASignalOfAThreadThatHasStoppedEndsTheWait) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &child, nullptr), 0);
  Pacer pacer(1, {});
  const std::atomic<bool> stop{false};
  ::kill(::getpid(), SIGCHLD);
  const Nanos far = MonotonicNow() + Nanos::FromSeconds(3600);
  EXPECT_LT(pacer.Wait(far, stop, true), far);
}

// Intervals are half to one and a half of the mean, whatever happens in between.
TEST(Pacer, InstantsAreDrawnAroundTheMean) {
  Pacer pacer(1000, {});
  Nanos instant = pacer.First(Nanos(1'000'000'000));
  EXPECT_GE(instant, Nanos(1'000'000'000));
  EXPECT_LE(instant, Nanos(1'001'000'000));
  const Nanos first = instant;
  constexpr int kInstants = 10'000;
  for (int i = 0; i < kInstants; ++i) {
    const Nanos next = pacer.Next(instant, instant + Nanos(100'000));
    EXPECT_GE(next - instant, Nanos(500'000));
    EXPECT_LE(next - instant, Nanos(1'500'000));
    instant = next;
  }
  EXPECT_NEAR((instant - first).seconds() / kInstants, 0.001, 0.00002);
  EXPECT_NEAR(pacer.rate_hz(instant), 1000, 20);
  EXPECT_EQ(pacer.late(), 0U);
  EXPECT_EQ(pacer.missed(), 0U);
}

TEST(Pacer, WhatComesLateIsCountedAndWhatWasPassedOver) {
  Pacer pacer(1000, {});
  const Nanos instant(1'000'000'000);
  EXPECT_LE(pacer.Next(instant, instant + Nanos(250'000)), instant + Nanos(1'500'000));
  EXPECT_EQ(pacer.late(), 1U);
  EXPECT_EQ(pacer.missed(), 0U);
  const Nanos now = instant + Nanos::FromMillis(20);
  EXPECT_GT(pacer.Next(instant, now), now) << "never in the past: what was missed is not made up for";
  EXPECT_GE(pacer.missed(), 18U);
  EXPECT_LE(pacer.missed(), 20U);
}

Nanos MeanInterval(Pacer& pacer) {
  Nanos sum;
  for (int i = 0; i < 100; ++i) {
    sum = sum + (pacer.Next(Nanos(), Nanos()) - Nanos());
  }
  return Nanos(sum.value / 100);
}

// Only the pacer's own past matters: the test uses as much CPU as it likes.
TEST(Pacer, BacksOffWhereALimitIsMet) {
  Pacer pacer(1000, {.overhead = 0, .stopped = 0.01});
  Nanos now = MonotonicNow() + Nanos::FromMillis(300);
  Nanos stopped;
  pacer.Govern(now, stopped);
  EXPECT_EQ(pacer.limit(), RateLimit::kNone);
  for (int i = 0; i < 20; ++i) {
    now = now + Nanos::FromMillis(300);
    stopped = stopped + Nanos::FromMillis(12);  // 4 %
    pacer.Govern(now, stopped);
  }
  EXPECT_EQ(pacer.limit(), RateLimit::kStops);
  EXPECT_GT(MeanInterval(pacer), Nanos::FromMillis(50)) << "it costs as much as before, though there are fewer";
  for (int i = 0; i < 100; ++i) {
    now = now + Nanos::FromMillis(300);
    pacer.Govern(now, stopped);
  }
  EXPECT_LT(MeanInterval(pacer), Nanos(1'200'000)) << "and comes back";
}

TEST(Pacer, WhatStopsCostAtTheAskedRateIsSharedByAllCaptures) {
  std::atomic<uint32_t> sharers{1};
  Pacer pacer(1000, {.overhead = 0, .stopped = 0.01, .sharers = &sharers});
  Nanos now = MonotonicNow();
  Nanos stopped;
  const auto run = [&] {
    for (int i = 0; i < 200; ++i) {
      now = now + Nanos::FromMillis(300);
      // 20 us each
      stopped = stopped + Nanos(20'000 * Nanos::FromMillis(300).value / MeanInterval(pacer).value);
      pacer.Govern(now, stopped);
    }
  };
  run();
  EXPECT_NEAR(MeanInterval(pacer).seconds(), 0.002, 0.0002);
  sharers = 4;
  run();
  EXPECT_NEAR(MeanInterval(pacer).seconds(), 0.008, 0.0008);
}

}  // namespace
}  // namespace ptrace_prof
