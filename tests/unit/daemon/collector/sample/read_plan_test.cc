#include "symbolizer/cpython/read_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace ptrace_prof {
namespace {

TEST(ReadPlan, MergesNeighboursAndKeepsStrangersApart) {
  ReadPlan plan;
  plan.Add(RemoteAddr(0x10000), 64);
  plan.Add(RemoteAddr(0x10400), 64);
  plan.Add(RemoteAddr(0x90000), 64);
  ASSERT_TRUE(plan.Seal());
  std::vector<ReadRequest> requests;
  plan.AppendRequests(&requests);
  EXPECT_EQ(requests.size(), 2u);
  EXPECT_NE(plan.Find(0x10400, 64), nullptr);
  EXPECT_NE(plan.Find(0x10200, 8), nullptr) << "the gap was read too";
  EXPECT_EQ(plan.Find(0x10440, 1), nullptr);
  EXPECT_EQ(plan.Find(0x9003C, 8), nullptr) << "reaches over the end";
  EXPECT_EQ(plan.Find(0xFFF0, 8), nullptr);
}

TEST(ReadPlan, RoomEndsAtThePage) {
  ReadPlan plan;
  plan.AddWithRoom(RemoteAddr(0x10F80), 64, 4096);
  ASSERT_TRUE(plan.Seal());
  EXPECT_NE(plan.Find(0x10FF8, 8), nullptr);
  EXPECT_EQ(plan.Find(0x10FFC, 8), nullptr);
}

TEST(ReadPlan, FindsExactlyWhatWasAdded) {
  std::mt19937_64 random(20);
  for (int round = 0; round < 200; ++round) {
    ReadPlan plan;
    std::vector<uint64_t> added;
    for (int i = 0; i < 50; ++i) {
      added.push_back(0x10000 + (random() % 200000) * 8);
      plan.Add(RemoteAddr(added.back()), 88);
    }
    ASSERT_TRUE(plan.Seal());
    std::vector<ReadRequest> requests;
    plan.AppendRequests(&requests);
    for (const uint64_t address : added) {
      const std::byte* found = plan.Find(address, 88);
      ASSERT_NE(found, nullptr);
      bool inside = false;  // inside the request that fills it
      for (const ReadRequest& request : requests) {
        const auto* to = static_cast<const std::byte*>(request.to);
        inside = inside || (found >= to && found + 88 <= to + request.size &&
                            static_cast<uint64_t>(found - to) == address - request.from.value);
      }
      EXPECT_TRUE(inside);
    }
  }
}

TEST(ReadPlan, RefusesToReadTooMuch) {
  ReadPlan plan;
  for (uint64_t i = 0; i < 100'000; ++i) {
    plan.Add(RemoteAddr(0x10000 + i * 0x1000), 64);
  }
  EXPECT_FALSE(plan.Seal());
}

}  // namespace
}  // namespace ptrace_prof
