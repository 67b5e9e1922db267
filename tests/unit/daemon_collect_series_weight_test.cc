#include <gtest/gtest.h>

#include "daemon/collect/series_weight.h"

namespace ptrace_prof {
namespace {

constexpr int kMoments = 8;
constexpr Nanos kRest = Nanos(2'000);

class SeriesWeightTest : public ::testing::Test {
 protected:
  // A series that took `took`; how many samples its moments are.
  uint32_t Samples(Nanos took) {
    weight_.Begin(now_, now_ + took);
    now_ = now_ + took + kRest;
    uint32_t samples = 0;
    for (int i = 0; i < kMoments; ++i) {
      samples += weight_.Next();
    }
    return samples;
  }

  SeriesWeight weight_;
  Nanos now_ = Nanos(1'000'000);
};

TEST_F(SeriesWeightTest, EqualSeriesAreTheirMoments) {
  constexpr int kSeries = 10'000;
  double samples = 0;
  for (int i = 0; i < kSeries; ++i) {
    samples += Samples(Nanos(10'000));
  }
  EXPECT_NEAR(samples / (kSeries * kMoments), 1, 0.01);
}

TEST_F(SeriesWeightTest, SamplesAreEvenInTime) {
  double slow = 0;
  double fast = 0;
  constexpr int kTurns = 20'000;
  for (int i = 0; i < kTurns; ++i) {
    slow += Samples(Nanos(16'000));
    fast += Samples(Nanos(8'000));
  }
  EXPECT_NEAR(slow / fast, 18.0 / 10.0, 0.02) << "as the time that they took, with what comes between";
  EXPECT_NEAR((slow + fast) / (2 * kTurns * kMoments), 1, 0.01) << "as many samples as moments";
}

TEST_F(SeriesWeightTest, WhatWasPutToSleepDoesNotCountForLong) {
  for (int i = 0; i < 1000; ++i) {
    Samples(Nanos(10'000));
  }
  EXPECT_LE(Samples(Nanos::FromMillis(50)), 3u * kMoments + 1);
}

}  // namespace
}  // namespace ptrace_prof
