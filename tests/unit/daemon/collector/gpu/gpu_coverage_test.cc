// For how much of a capture the GPU was not recorded.
#include "daemon/collector/gpu/gpu_coverage.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

TEST(GpuCoverage, BeforeItComesUpAndAfterItEnds) {
  GpuCoverage coverage;
  coverage.Open(Nanos(100));
  EXPECT_EQ(coverage.Missing(Nanos(150), Nanos()), Nanos(50)) << "nothing is recorded yet";
  coverage.Begin(Nanos(300));
  EXPECT_EQ(coverage.Missing(Nanos(1000), Nanos()), Nanos(200));
  EXPECT_EQ(coverage.Missing(Nanos(1000), Nanos(7)), Nanos(207));
  coverage.End(Nanos(800));
  EXPECT_EQ(coverage.Missing(Nanos(1000), Nanos()), Nanos(400));
  coverage.Close(Nanos(900));
  EXPECT_EQ(coverage.Missing(Nanos(5000), Nanos()), Nanos(300));
  EXPECT_EQ(coverage.Missing(Nanos(5000), Nanos(100'000)), Nanos(800)) << "no more than all of it";
}

TEST(GpuCoverage, ItWasUpBeforeTheCaptureBegan) {
  GpuCoverage coverage;
  coverage.Open(Nanos(100));
  coverage.Begin(Nanos(50));
  coverage.Close(Nanos(200));
  EXPECT_EQ(coverage.Missing(Nanos(300), Nanos()), Nanos());
}

TEST(GpuCoverage, TimesThatCannotBeAreOfNoConsequence) {
  GpuCoverage coverage;
  coverage.Open(Nanos(100));
  coverage.Begin(Nanos(INT64_MIN));
  coverage.End(Nanos(INT64_MIN));
  EXPECT_EQ(coverage.Missing(Nanos(200), Nanos()), Nanos(100));
  EXPECT_EQ(coverage.Missing(Nanos(50), Nanos()), Nanos());
}

}  // namespace
}  // namespace ptrace_prof
