// Bytes that are kept for clients that do not read: counted for each user, and given back.
#include "daemon/server/captures/unsent_bytes.h"

#include <gtest/gtest.h>

#include <utility>

namespace ptrace_prof {
namespace {

constexpr UnsentBytes::Bounds kBounds{.per_user = 100, .total = 150, .small = 10};

TEST(UnsentBytes, AUserHasSoMuchAndNoMoreUntilItIsGivenBack) {
  UnsentBytes unsent(kBounds);
  auto first = unsent.Take(1, 40);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(unsent.Take(1, 11).has_value());
  EXPECT_TRUE(unsent.Take(2, 30).has_value());
  first.reset();
  EXPECT_TRUE(unsent.Take(1, 50).has_value());
}

TEST(UnsentBytes, AllTogetherHaveSoMuchButForSmallMessages) {
  UnsentBytes unsent(kBounds);
  const auto first = unsent.Take(1, 50);
  const auto second = unsent.Take(2, 25);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_FALSE(unsent.Take(3, 11).has_value());
  EXPECT_TRUE(unsent.Take(3, 10).has_value());
}

TEST(UnsentBytes, EmptyMessagesTakeNothingHoweverManyThereAre) {
  UnsentBytes unsent(kBounds);
  {
    const auto first = unsent.Take(1, 0);
    const auto second = unsent.Take(1, 0);
    const auto third = unsent.Take(1, 1);
    EXPECT_TRUE(first.has_value() && second.has_value() && third.has_value());
  }
  EXPECT_TRUE(unsent.Take(1, 50).has_value());
}

TEST(UnsentBytes, WhatIsMovedIsGivenBackOnce) {
  UnsentBytes unsent(kBounds);
  UnsentBytes::Share kept;
  {
    auto taken = unsent.Take(1, 50);
    ASSERT_TRUE(taken.has_value());
    kept = std::move(*taken);
  }
  EXPECT_FALSE(unsent.Take(1, 1).has_value());
  kept = {};
  EXPECT_TRUE(unsent.Take(1, 50).has_value());
}

}  // namespace
}  // namespace ptrace_prof
