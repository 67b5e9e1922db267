// Which operator ran at a moment.
#include "daemon/export/operator_links.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

constexpr OperatorThread kThread{1, 1};

TEST(OperatorLinksTest, TheInnermostOneThatRuns) {
  OperatorLinks links;
  links.Add(kThread, Nanos(20), Nanos(30), 1);  // as in a trace: those that end first come first
  links.Add(kThread, Nanos(40), Nanos(45), 2);
  links.Add(kThread, Nanos(40), Nanos(50), 3);
  links.Add(kThread, Nanos(10), Nanos(60), 4);
  const std::pair<int64_t, std::optional<uint64_t>> expected[] = {
      {9, std::nullopt}, {10, 4}, {19, 4}, {20, 1}, {29, 1}, {30, 4},
      {40, 2},           {44, 2}, {45, 3}, {50, 4}, {59, 4}, {60, std::nullopt}};
  for (const auto& [when, id] : expected) {
    EXPECT_EQ(links.At(kThread, Nanos(when)), id) << when;
  }
  EXPECT_EQ(links.At({1, 2}, Nanos(20)), std::nullopt);
}

TEST(OperatorLinksTest, OperatorsThatComeAfterAQuestion) {
  OperatorLinks links;
  links.Add(kThread, Nanos(20), Nanos(30), 1);
  EXPECT_EQ(links.At(kThread, Nanos(35)), std::nullopt);
  links.Add(kThread, Nanos(10), Nanos(40), 2);
  EXPECT_EQ(links.At(kThread, Nanos(35)), 2U);
  EXPECT_EQ(links.At(kThread, Nanos(25)), 1U);
}

// Two clocks may disagree: neither contains the other.
TEST(OperatorLinksTest, OperatorsThatOverlap) {
  OperatorLinks links;
  links.Add(kThread, Nanos(10), Nanos(30), 1);
  links.Add(kThread, Nanos(20), Nanos(40), 2);
  EXPECT_EQ(links.At(kThread, Nanos(15)), 1U);
  EXPECT_EQ(links.At(kThread, Nanos(25)), 2U);
  EXPECT_EQ(links.At(kThread, Nanos(35)), 2U);
}

}  // namespace
}  // namespace ptrace_prof
