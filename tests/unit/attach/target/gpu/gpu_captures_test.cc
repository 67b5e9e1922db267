// Which captures of CUDA graphs the shim considers open, given the calls that are reported to it.
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/attach/target/gpu/gpu_target.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kDriver = 1;
constexpr uint32_t kRuntime = 2;
constexpr uint32_t kBegin = 315;
constexpr uint32_t kEnd = 319;
constexpr uint32_t kDriverBegin = 539;
constexpr uint32_t kDriverEnd = 497;
constexpr uint64_t kOne = 0x7f0010;
constexpr uint64_t kOther = 0x7f0020;
constexpr int32_t kInvalidated = 901;
constexpr int32_t kWrongThread = 905;
constexpr uint32_t kCaptureStackBytes = 2 * PP_PAGE;
constexpr uint64_t kSecond = 1'000'000'000;

class GpuCapturesTest : public testing::Test {
 protected:
  GpuCapturesTest() : memory_(PP_GPU_ARENA_SIZE(1, uint64_t{PP_GPU_MIN_SLOT_BYTES}, uint64_t{kCaptureStackBytes}) / 8) {
    gpu_target_prepare(memory_.data(), kCaptureStackBytes);
    gpu_target_pass_time(3600 * kSecond);  // so that state of another test has expired
    gpu_target_subscribe();
  }

  std::vector<uint64_t> memory_;
};

TEST_F(GpuCapturesTest, LastFromTheirBeginToTheirEnd) {
  EXPECT_EQ(gpu_target_captures(), 0);
  gpu_target_call(kRuntime, kBegin, kOne, 0);
  gpu_target_call(kRuntime, kBegin, kOther, 0);
  EXPECT_EQ(gpu_target_captures(), 2);
  gpu_target_call(kRuntime, kEnd, kOne, kInvalidated);
  gpu_target_call(kRuntime, kEnd, kOther, 0);
  EXPECT_EQ(gpu_target_captures(), 0);
}

TEST_F(GpuCapturesTest, TheDriversCallInTheRuntimesCountsOnce) {
  gpu_target_call(kDriver, kDriverBegin, kOne, 0);
  gpu_target_call(kRuntime, kBegin, kOne, 0);
  EXPECT_EQ(gpu_target_captures(), 1);
  gpu_target_call(kDriver, kDriverEnd, kOne, 0);
  EXPECT_EQ(gpu_target_captures(), 0);
  gpu_target_call(kRuntime, kEnd, kOne, 0);
  EXPECT_EQ(gpu_target_captures(), 0);
}

TEST_F(GpuCapturesTest, TheEndOfOneThatBeganBeforeUsEndsNoOther) {
  gpu_target_call(kRuntime, kBegin, kOne, 0);
  gpu_target_call(kRuntime, kEnd, kOther, 0);
  EXPECT_EQ(gpu_target_captures(), 1);
}

TEST_F(GpuCapturesTest, CallsThatFailedChangeNothing) {
  gpu_target_call(kRuntime, kBegin, kOne, kInvalidated);
  EXPECT_EQ(gpu_target_captures(), 0);
  gpu_target_call(kRuntime, kBegin, kOne, 0);
  gpu_target_call(kRuntime, kEnd, kOne, kWrongThread);
  EXPECT_EQ(gpu_target_captures(), 1);
}

TEST_F(GpuCapturesTest, MoreThanThereIsRoomForAreNeverTakenForOver) {
  for (uint64_t stream = 1; stream <= 100; ++stream) {
    gpu_target_call(kRuntime, kBegin, stream * kOne, 0);
  }
  for (uint64_t stream = 1; stream <= 100; ++stream) {
    gpu_target_call(kRuntime, kEnd, stream * kOne, 0);
  }
  EXPECT_EQ(gpu_target_captures(), 1);
}

TEST_F(GpuCapturesTest, WhatWasOpenWhenWeLeftIsBelievedForAWhile) {
  gpu_target_call(kRuntime, kBegin, kOne, 0);
  gpu_target_leave();
  gpu_target_pass_time(60 * kSecond);
  gpu_target_subscribe();
  EXPECT_EQ(gpu_target_captures(), 1);
  gpu_target_leave();
  gpu_target_pass_time(600 * kSecond);
  gpu_target_subscribe();
  EXPECT_EQ(gpu_target_captures(), 0);
}

}  // namespace
}  // namespace ptrace_prof
