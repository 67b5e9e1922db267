// When meaningless times end a recording, and for which reason.
#include "daemon/collector/gpu/gpu_time_check.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

constexpr Pid kPid(4711);

GpuAccounting Counted(uint64_t bad, uint64_t good) {
  GpuAccounting accounting;
  accounting.cupti_version = 130001;
  accounting.invalid = bad;
  accounting.kernels = good;
  return accounting;
}

GpuLibrary Library(uint32_t version, uint32_t time = PP_GPU_TIME_OTHER) {
  GpuLibrary library;
  library.version = version;
  library.record_time = time;
  return library;
}

TEST(GpuTimeCheck, EndsOnceMostTimesMeanNothing) {
  GpuTimeCheck check;
  EXPECT_FALSE(check.Look(kPid, Counted(50, 0), 0).has_value()) << "few";
  EXPECT_FALSE(check.Look(kPid, Counted(250, 1000), 0).has_value()) << "more are well";
  const auto lost = check.Look(kPid, Counted(500, 1100), 250);
  ASSERT_TRUE(lost.has_value());
  EXPECT_NE(lost->message.find("reported invalid times (250 of the last 350 records)"), std::string::npos);
}

TEST(GpuTimeCheck, WaitsForTimesWhereThereAreToBeNoneForAWhile) {
  GpuTimeCheck check;
  EXPECT_NE(check.Begin(kPid, Library(130001)).find("fixed in 13.1): such kernels"), std::string::npos);
  uint64_t bad = 0;
  for (int look = 0; look < 9; ++look) {
    bad += 1000;
    EXPECT_FALSE(check.Look(kPid, Counted(bad, 0), bad).has_value());
  }
  EXPECT_FALSE(check.Look(kPid, Counted(bad, 1000), bad).has_value());
  for (int look = 0; look < 9; ++look) {
    bad += 1000;
    EXPECT_FALSE(check.Look(kPid, Counted(bad, 1000), bad).has_value());
  }
  bad += 1000;
  const auto lost = check.Look(kPid, Counted(bad, 1000), bad);
  ASSERT_TRUE(lost.has_value());
  EXPECT_NE(lost->message.find("CUDA 13.0 update 1"), std::string::npos);
  EXPECT_NE(lost->message.find("fixed in 13.1"), std::string::npos);
  const auto other = check.Look(kPid, Counted(bad + 1000, 1000), bad + 100);
  ASSERT_TRUE(other.has_value()) << "most were not 0";
  EXPECT_NE(other->message.find("invalid times"), std::string::npos);
}

TEST(GpuTimeCheck, KnowsWhereThereAreToBeNone) {
  GpuTimeCheck check;
  for (const uint32_t version : {24U, 28U, 130002U}) {
    EXPECT_NE(check.Begin(kPid, Library(version)), "") << version;
    EXPECT_EQ(check.Begin(kPid, Library(version, PP_GPU_TIME_REALTIME)), "") << version;
  }
  for (const uint32_t version : {23U, 130100U, 130400U}) {
    EXPECT_EQ(check.Begin(kPid, Library(version)), "") << version;
  }
  EXPECT_TRUE(check.Look(kPid, Counted(1000, 0), 1000).has_value()) << "not so with the last of these";
}

}  // namespace
}  // namespace ptrace_prof
