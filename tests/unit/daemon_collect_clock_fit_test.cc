// Clocks of a rate of their own: fitted, followed where they drift, and not fitted across a step.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "daemon/collect/clock_fit.h"

namespace ptrace_prof {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kBegin = 5'000'000'000;
constexpr Nanos kWidth(100);

// A processor's counter at 2.4 GHz, off by so many in a billion.
uint64_t Counter(int64_t monotonic, double off = 0) {
  return static_cast<uint64_t>(std::llround(static_cast<long double>(monotonic) * 2.4L * (1 + off * 1e-9L))) +
         987'654'321;
}

int64_t Error(const ClockFit& fit, int64_t monotonic, double off = 0) {
  return fit.ToMonotonic(Counter(monotonic, off)).value - monotonic;
}

TEST(ClockFit, KnowsNothingBeforeThereIsALine) {
  ClockFit fit;
  EXPECT_FALSE(fit.is_known());
  fit.ToMonotonic(7);
  fit.Add(Counter(kBegin), Nanos(kBegin), kWidth);
  fit.Add(Counter(kBegin + kMilli), Nanos(kBegin + kMilli), kWidth);
  EXPECT_FALSE(fit.is_known()) << "a millisecond is too short to tell a rate";
  fit.Add(Counter(kBegin + 60 * kMilli), Nanos(kBegin + 60 * kMilli), kWidth);
  EXPECT_TRUE(fit.is_known());
}

TEST(ClockFit, TellsTimesBeforeBetweenAndAfter) {
  ClockFit fit;
  for (int64_t at = 0; at <= 2000; at += 8) {
    fit.Add(Counter(kBegin + at * kMilli), Nanos(kBegin + at * kMilli), kWidth);
  }
  for (const int64_t at : {-1000, -1, 0, 3, 1000, 1999, 2000, 2250}) {
    EXPECT_LE(std::abs(Error(fit, kBegin + at * kMilli)), 1) << at;
  }
  EXPECT_EQ(fit.steps(), 0);
}

TEST(ClockFit, ReadingsThatAreOffByTheirWidthAreNoSteps) {
  ClockFit fit;
  for (int i = 0; i < 400; ++i) {
    const int64_t at = kBegin + i * 60 * kMilli;
    fit.Add(Counter(at + (i * 37) % 100 - 50), Nanos(at), kWidth);
  }
  EXPECT_EQ(fit.steps(), 0);
  for (int i = 0; i < 400; ++i) {
    EXPECT_LE(std::abs(Error(fit, kBegin + i * 60 * kMilli + 7 * kMilli)), 60) << i;
  }
}

// Where a line through both ends would be half a millisecond off in the middle.
TEST(ClockFit, FollowsADrift) {
  ClockFit fit;
  constexpr int kReadings = 20'000;
  uint64_t counted = Counter(kBegin);
  std::vector<uint64_t> readings;
  for (int i = 0; i < kReadings; ++i) {
    readings.push_back(counted);
    fit.Add(counted, Nanos(kBegin + i * 250 * kMilli), kWidth);
    counted += static_cast<uint64_t>(250e6 * 2.4 * (1 + 1e-5 * std::sin(i / 2000.0)));
  }
  EXPECT_EQ(fit.steps(), 0);
  for (int i = kReadings - 1500; i < kReadings; ++i) {
    EXPECT_LE(std::abs(fit.ToMonotonic(readings[static_cast<size_t>(i)]).value - (kBegin + i * 250 * kMilli)), 100)
        << i;
  }
}

TEST(ClockFit, DrawsNoLineAcrossAStep) {
  for (const int64_t step : {int64_t{3'600'000} * kMilli, int64_t{-1000} * kMilli}) {
    ClockFit fit;
    const auto counter = [&](int64_t at) {
      return Counter(at >= 1000 ? kBegin + at * kMilli + step : kBegin + at * kMilli);
    };
    for (int64_t at = 0; at < 2000; at += 100) {
      fit.Add(counter(at), Nanos(kBegin + at * kMilli), kWidth);
    }
    EXPECT_EQ(fit.steps(), 1);
    for (const int64_t at : {1000, 1040, 1500, 1950}) {
      EXPECT_LE(std::abs(fit.ToMonotonic(counter(at)).value - (kBegin + at * kMilli)), 1) << step << ", " << at;
    }
    if (step > 0) {
      EXPECT_LE(std::abs(fit.ToMonotonic(counter(850)).value - (kBegin + 850 * kMilli)), 1);
    }
  }
}

TEST(ClockFit, TellsTimesBetweenAStepAndTheNextLine) {
  ClockFit fit;
  for (int64_t at = 0; at < 300; at += 100) {
    fit.Add(Counter(kBegin + at * kMilli), Nanos(kBegin + at * kMilli), kWidth);
  }
  fit.Add(Counter(kBegin) * 3, Nanos(kBegin + 300 * kMilli), kWidth);
  EXPECT_EQ(fit.steps(), 1);
  EXPECT_EQ(fit.ToMonotonic(Counter(kBegin) * 3 + 2400 * 1000).value, kBegin + 301 * kMilli);
}

TEST(ClockFit, TakesAnyNumbers) {
  ClockFit fit;
  const uint64_t numbers[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, uint64_t{1} << 63, 5};
  for (int i = 0; i < 30'000; ++i) {
    fit.Add(numbers[i % 6], Nanos(i * 60 * kMilli), Nanos(i % 3));
    fit.ToMonotonic(numbers[(i * 5) % 6]);
  }
  fit.Add(7, Nanos(INT64_MAX), kWidth);
  fit.Add(UINT64_MAX, Nanos(INT64_MIN), kWidth);
  fit.ToMonotonic(UINT64_MAX);
  EXPECT_GT(fit.steps(), 0);
}

}  // namespace
}  // namespace ptrace_prof
