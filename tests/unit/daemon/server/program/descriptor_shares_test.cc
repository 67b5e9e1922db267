#include "daemon/server/program/descriptor_shares.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

TEST(DescriptorShares, OneUserLeavesEnoughForAnother) {
  for (const uint64_t descriptors : {128, 256, 1024, 4096, 65536}) {
    const DescriptorShares shares = SharesOf(descriptors);
    const uint64_t taken = 2 * shares.connections_per_user + 6 * shares.captures_per_user + 8 * shares.live_per_user;
    EXPECT_LE(taken, descriptors * 3 / 4) << descriptors;
    EXPECT_LE(shares.connections_per_user, shares.connections / 2) << descriptors;
    EXPECT_GE(shares.captures_per_user, 1U) << descriptors;
  }
}

TEST(DescriptorShares, OfManyThereAreFixedNumbers) {
  EXPECT_EQ(SharesOf(1 << 20).connections, 1000U);
  EXPECT_EQ(SharesOf(1 << 20).connections_per_user, 500U);
  EXPECT_EQ(SharesOf(UINT64_MAX).connections, 1000U);
}

}  // namespace
}  // namespace ptrace_prof
