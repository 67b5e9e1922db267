// Clocks with rates of their own: they are fitted, followed where they drift, and not fitted across a step.

#include "daemon/collector/gpu/clock_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ptrace_prof {
namespace {

constexpr int64_t kFitMilli = 1'000'000;
constexpr int64_t kFitBegin = 5'000'000'000;
constexpr Nanos kWidth(100);

// A processor's counter at 2.4 GHz, off by so many parts in a billion.
uint64_t FitCounter(int64_t monotonic, double off = 0) {
  return static_cast<uint64_t>(std::llround(static_cast<long double>(monotonic) * 2.4L * (1 + off * 1e-9L))) +
         987'654'321;
}

int64_t FitError(const ClockFit& fit, int64_t monotonic, double off = 0) {
  return fit.At(FitCounter(monotonic, off)).value_or(Nanos()).value - monotonic;
}

TEST(ClockFit, KnowsNothingBeforeThereIsALine) {
  ClockFit fit;
  EXPECT_FALSE(fit.At(7).has_value());
  for (const int64_t at : {0, 1, 60}) {
    fit.Add(FitCounter(kFitBegin + at * kFitMilli), Nanos(kFitBegin + at * kFitMilli), kWidth);
    EXPECT_FALSE(fit.is_known()) << "the one between is too near to an end to tell that there was no step";
    EXPECT_FALSE(fit.At(FitCounter(kFitBegin)).has_value());
  }
  fit.Add(FitCounter(kFitBegin + 120 * kFitMilli), Nanos(kFitBegin + 120 * kFitMilli), kWidth);
  EXPECT_TRUE(fit.is_known());
  EXPECT_TRUE(fit.is_settled());
  EXPECT_EQ(fit.unsure().value, 0);
}

TEST(ClockFit, ReportsTimesBeforeBetweenAndAfter) {
  ClockFit fit;
  for (int64_t at = 0; at <= 2000; at += 8) {
    fit.Add(FitCounter(kFitBegin + at * kFitMilli), Nanos(kFitBegin + at * kFitMilli), kWidth);
  }
  for (const int64_t at : {-1000, -1, 0, 3, 1000, 1999, 2000, 2250}) {
    EXPECT_LE(std::abs(FitError(fit, kFitBegin + at * kFitMilli)), 1) << at;
  }
  EXPECT_EQ(fit.steps(), 0);
}

TEST(ClockFit, ReadingsThatAreOffByTheirWidthAreNoSteps) {
  ClockFit fit;
  for (int i = 0; i < 400; ++i) {
    const int64_t at = kFitBegin + i * 60 * kFitMilli;
    fit.Add(FitCounter(at + (i * 37) % 100 - 50), Nanos(at), kWidth);
  }
  EXPECT_EQ(fit.steps(), 0);
  for (int i = 0; i < 400; ++i) {
    EXPECT_LE(std::abs(FitError(fit, kFitBegin + i * 60 * kFitMilli + 7 * kFitMilli)), 60) << i;
  }
}

// A line through both ends would be half a millisecond off in the middle.
TEST(ClockFit, FollowsADrift) {
  ClockFit fit;
  constexpr int kReadings = 20'000;
  uint64_t counted = FitCounter(kFitBegin);
  std::vector<uint64_t> readings;
  for (int i = 0; i < kReadings; ++i) {
    readings.push_back(counted);
    fit.Add(counted, Nanos(kFitBegin + i * 250 * kFitMilli), kWidth);
    counted += static_cast<uint64_t>(250e6 * 2.4 * (1 + 1e-5 * std::sin(i / 2000.0)));
  }
  EXPECT_EQ(fit.steps(), 0);
  for (int i = kReadings - 1500; i < kReadings; ++i) {
    EXPECT_LE(std::abs(fit.At(readings[static_cast<size_t>(i)])->value - (kFitBegin + i * 250 * kFitMilli)), 100) << i;
  }
}

TEST(ClockFit, DrawsNoLineAcrossAStep) {
  constexpr int64_t kHour = int64_t{3'600'000} * kFitMilli;
  for (const int64_t step : {kHour, -kHour, int64_t{-1000} * kFitMilli}) {
    ClockFit fit;
    const auto counter = [&](int64_t at) {
      return FitCounter(2 * kHour + (at >= 1000 ? kFitBegin + at * kFitMilli + step : kFitBegin + at * kFitMilli));
    };
    for (int64_t at = 0; at < 2000; at += 100) {
      fit.Add(counter(at), Nanos(kFitBegin + at * kFitMilli), kWidth);
    }
    EXPECT_EQ(fit.steps(), 1);
    EXPECT_EQ(fit.unsure().value, 100 * kFitMilli) << "between the two readings";
    for (const int64_t at : {1000, 1040, 1500, 1950}) {
      EXPECT_LE(std::abs(fit.At(counter(at))->value - (kFitBegin + at * kFitMilli)), 1) << step << ", " << at;
    }
    for (const int64_t at : {850, 950}) {
      // A counter value that comes again moments later is ambiguous.
      const int64_t when = step == -1000 * kFitMilli ? at + 1000 : at;
      EXPECT_LE(std::abs(fit.At(counter(at))->value - (kFitBegin + when * kFitMilli)), 1) << step << ", " << at;
    }
    if (step > 0) {
      const uint64_t just_after = counter(1000) - 2400 * 1000;  // the step was before the reading that showed it
      EXPECT_LE(std::abs(fit.At(just_after)->value - (kFitBegin + 999 * kFitMilli)), 1);
    }
  }
}

// The first line, and the first one after a step, have no earlier line that would show a step.
TEST(ClockFit, SeesAStepBeforeThereIsALine) {
  for (const int64_t stepped : {100, 200, 300}) {
    ClockFit fit;
    const auto counter = [&](int64_t at) {
      return FitCounter(at >= stepped ? kFitBegin + (at + 400) * kFitMilli : kFitBegin + at * kFitMilli);
    };
    for (int64_t at = 0; at < 1000; at += 100) {
      fit.Add(counter(at), Nanos(kFitBegin + at * kFitMilli), kWidth);
    }
    EXPECT_EQ(fit.steps(), 1) << stepped;
    EXPECT_TRUE(fit.is_settled()) << stepped;
    EXPECT_GE(fit.unsure().value, 100 * kFitMilli) << stepped;
    if (stepped < 300) {
      EXPECT_FALSE(fit.At(counter(0)).has_value()) << "there is no line for what was before";
    }
    for (const int64_t at : {stepped, stepped + 50, int64_t{900}, int64_t{990}}) {
      EXPECT_LE(std::abs(fit.At(counter(at))->value - (kFitBegin + at * kFitMilli)), 1) << stepped << ", " << at;
    }
  }
}

// The clock may run at another rate afterwards, as another tool may have replaced it.
TEST(ClockFit, ReportsNoTimeBetweenAStepAndTheNextLine) {
  ClockFit fit;
  for (int64_t at = 0; at < 400; at += 100) {
    fit.Add(FitCounter(kFitBegin + at * kFitMilli), Nanos(kFitBegin + at * kFitMilli), kWidth);
  }
  const auto other = [](int64_t at) { return static_cast<uint64_t>(kFitBegin * 5 + at * kFitMilli); };
  for (int64_t at = 400; at < 600; at += 100) {
    fit.Add(other(at), Nanos(kFitBegin + at * kFitMilli), kWidth);
    EXPECT_FALSE(fit.is_settled());
    EXPECT_FALSE(fit.At(other(at) + 5).has_value());
    EXPECT_FALSE(fit.At(other(390)).has_value());
    EXPECT_EQ(fit.unsure().value, (at - 300) * kFitMilli);
    EXPECT_LE(std::abs(FitError(fit, kFitBegin + 310 * kFitMilli)), 1) << "that was before";
  }
  fit.Add(other(600), Nanos(kFitBegin + 600 * kFitMilli), kWidth);
  EXPECT_TRUE(fit.is_settled());
  EXPECT_EQ(fit.steps(), 1);
  EXPECT_EQ(fit.unsure().value, 100 * kFitMilli);
  for (const int64_t at : {395, 405, 590, 700}) {
    EXPECT_LE(std::abs(fit.At(other(at))->value - (kFitBegin + at * kFitMilli)), 1) << at;
  }
}

// The reading thread waited between the two clocks, so the second was read late.
TEST(ClockFit, GivesNothingForReadingsThatAreFarApart) {
  for (const int late : {0, 3}) {
    ClockFit fit;
    for (int i = 0; i < 40; ++i) {
      const int64_t at = kFitBegin + i * 100 * kFitMilli;
      const int64_t wide = i % 5 == late ? 4 * kFitMilli : 0;
      fit.Add(FitCounter(at + wide / 2), Nanos(at), Nanos(wide + 100));
    }
    EXPECT_EQ(fit.steps(), 0) << late;
    for (int64_t at = 0; at < 4000; at += 33) {
      EXPECT_LE(std::abs(FitError(fit, kFitBegin + at * kFitMilli)), 1) << late << ", " << at;
    }
  }
}

// Many unsure readings are, in the end, sure enough for the times between them.
TEST(ClockFit, IsKnownLaterWhereNoReadingIsSure) {
  ClockFit fit;
  int i = 0;
  for (; i < 1000 && !fit.is_known(); ++i) {
    const int64_t at = kFitBegin + i * 100 * kFitMilli;
    fit.Add(FitCounter(at + (i % 3 - 1) * 400'000), Nanos(at), Nanos(kFitMilli));
  }
  EXPECT_GT(i, 50);
  EXPECT_LT(i, 150);
  EXPECT_LE(std::abs(FitError(fit, kFitBegin + i * 50 * kFitMilli)), kFitMilli);
}

TEST(ClockFit, TakesAnyNumbers) {
  ClockFit fit;
  const uint64_t numbers[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, uint64_t{1} << 63, 5};
  for (int i = 0; i < 30'000; ++i) {
    fit.Add(numbers[i % 6], Nanos(i * 60 * kFitMilli), Nanos(i % 3));
    fit.At(numbers[(i * 5) % 6]);
  }
  fit.Add(7, Nanos(INT64_MAX), Nanos(INT64_MAX));
  fit.Add(UINT64_MAX, Nanos(INT64_MIN), Nanos(INT64_MIN));
  fit.At(UINT64_MAX);
  EXPECT_GT(fit.steps(), 0);
  EXPECT_GE(fit.unsure().value, 0);
}

TEST(ClockFit, ForgetsOldLinesOnly) {
  ClockFit fit;
  uint64_t set = 0;
  for (int i = 0; i < 30'000; ++i) {
    set += i % 7 == 0 ? 10'000 * kFitMilli : 0;  // six of seven lines are followed by another one
    fit.Add(FitCounter(kFitBegin + i * 60 * kFitMilli) + set, Nanos(kFitBegin + i * 60 * kFitMilli), kWidth);
    if (fit.is_settled()) {
      ASSERT_LE(
          std::abs(fit.At(FitCounter(kFitBegin + i * 60 * kFitMilli) + set)->value - (kFitBegin + i * 60 * kFitMilli)),
          1)
          << i;
    }
    fit.At(static_cast<uint64_t>(i));
  }
  EXPECT_EQ(fit.steps(), 30'000 / 7);
}

}  // namespace
}  // namespace ptrace_prof
