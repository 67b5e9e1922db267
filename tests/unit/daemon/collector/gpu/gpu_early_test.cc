// Quantiles of how much too early kernels begin.
#include "daemon/collector/gpu/gpu_early.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

TEST(GpuEarly, OfNothingItIsNothing) {
  const GpuEarly early;
  EXPECT_EQ(early.Quantile(0.5), Nanos());
  EXPECT_EQ(early.most(), Nanos());
}

TEST(GpuEarly, QuantilesAreRightToAnEighthAndNotBelow) {
  GpuEarly early;
  for (int64_t nanos = 1; nanos <= 10'000; ++nanos) {
    early.Add(Nanos(nanos));
  }
  for (const double share : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    const auto exact = static_cast<double>(share * 10'000);
    EXPECT_GE(static_cast<double>(early.Quantile(share).value), exact) << share;
    EXPECT_LE(static_cast<double>(early.Quantile(share).value), exact * 1.125) << share;
  }
  EXPECT_EQ(early.most(), Nanos(10'000));
  EXPECT_EQ(early.count(), 10'000);
}

TEST(GpuEarly, SmallAndHugeOnes) {
  GpuEarly early;
  early.Add(Nanos(1));
  EXPECT_EQ(early.Quantile(0.5), Nanos(1));
  early.Add(Nanos(INT64_MAX));
  EXPECT_EQ(early.Quantile(0.5), Nanos(1));
  EXPECT_EQ(early.Quantile(0.99), Nanos(INT64_MAX));
}

}  // namespace
}  // namespace ptrace_prof
