#include <gtest/gtest.h>

#include "daemon/collect/pacer.h"

namespace ptrace_prof {
namespace {

TEST(Pacer, AsFastAsMayBeGoesOn) {
  Pacer pacer(0, 0);
  const std::atomic<bool> stop{false};
  const Nanos before = MonotonicNow();
  EXPECT_GE(pacer.Wait(Nanos(INT64_MAX), stop), before);
  EXPECT_EQ(pacer.actual_rate_hz(), 0);
}

TEST(Pacer, DoesNotSleepPastTheEnd) {
  Pacer pacer(0.01, 0);  // one sample in 100 s
  const std::atomic<bool> stop{false};
  const Nanos until = MonotonicNow() + Nanos::FromMillis(5);
  EXPECT_GE(pacer.Wait(until, stop), until);
}

TEST(Pacer, AStopEndsTheWait) {
  Pacer pacer(0.01, 0);
  const std::atomic<bool> stop{true};
  pacer.Wait(Nanos(INT64_MAX), stop);  // would last 100 s
}

TEST(Pacer, BacksOffWhenTheAllowanceIsUsedUp) {
  Pacer pacer(1000, 1e-6);
  const std::atomic<bool> stop{false};
  const Nanos end = MonotonicNow() + Nanos::FromSeconds(1);
  volatile uint64_t work = 0;
  for (Nanos now = MonotonicNow(); now < end; now = pacer.Wait(end, stop)) {
    for (int i = 0; i < 100'000; ++i) {
      work = work + 1;
    }
  }
  EXPECT_TRUE(pacer.backed_off());
  EXPECT_LT(pacer.actual_rate_hz(), 1000);
}

}  // namespace
}  // namespace ptrace_prof
