// What is freed is known if its allocation was seen, or a tensor in it.
#include "daemon/collector/torch/torch_blocks.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

constexpr TorchDevice kCuda{1, 0};

TEST(TorchBlocks, KnowWhatIsFreed) {
  TorchBlocks blocks;
  blocks.Allocated(1, 100, {});
  blocks.Allocated(2, 50, kCuda);
  EXPECT_EQ(blocks.cpu_bytes(), 100);
  EXPECT_EQ(blocks.Freed(1)->bytes, 100);
  EXPECT_EQ(blocks.Freed(2)->device, kCuda);
  EXPECT_FALSE(blocks.Freed(1).has_value());
  EXPECT_EQ(blocks.cpu_bytes(), 0);
}

TEST(TorchBlocks, KnowWhatWasThereBefore) {
  TorchBlocks blocks;
  EXPECT_TRUE(blocks.Met(1, 100, {}));
  EXPECT_FALSE(blocks.Met(1, 100, {})) << "once";
  EXPECT_EQ(blocks.cpu_bytes(), 0) << "it does not count";
  EXPECT_TRUE(blocks.Freed(1)->was_there);
  EXPECT_EQ(blocks.cpu_bytes(), 0);
  blocks.Allocated(1, 100, {});
  EXPECT_FALSE(blocks.Met(1, 64, {})) << "a tensor may use less than the block";
  EXPECT_FALSE(blocks.Freed(1)->was_there);
}

TEST(TorchBlocks, FollowMemoryOfOthersThatChangesSilently) {
  TorchBlocks blocks;
  EXPECT_TRUE(blocks.Met(1, 100, {}));
  EXPECT_TRUE(blocks.Met(1, 200, {}));
  blocks.Allocated(1, 8, {});
  EXPECT_EQ(blocks.cpu_bytes(), 8);
  EXPECT_EQ(blocks.Freed(1)->bytes, 8);
}

}  // namespace
}  // namespace ptrace_prof
