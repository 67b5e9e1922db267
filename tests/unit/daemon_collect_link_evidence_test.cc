#include <gtest/gtest.h>

#include <random>

#include "daemon/collect/link_evidence.h"

namespace ptrace_prof {
namespace {

constexpr int kInARow = 20;
const Link kLink{CodeId(1), CodeId(2), 3};

TEST(LinkEvidence, ALinkNeverMetNeedsAllReadsInARow) {
  const LinkEvidence evidence;
  EXPECT_EQ(evidence.ReadsNeeded(kLink, kInARow), kInARow);
}

TEST(LinkEvidence, MeetingsOfSomeMicrosecondsAddUp) {
  LinkEvidence evidence;
  int meetings = 0;
  for (; evidence.ReadsNeeded(kLink, kInARow) > 10; ++meetings) {
    ASSERT_LT(meetings, 5);
    evidence.Add(kLink, 10);
  }
  EXPECT_GE(meetings, 2) << "one meeting that ended early proves nothing";
  EXPECT_EQ(evidence.ReadsNeeded({CodeId(1), CodeId(2), 4}, kInARow), kInARow) << "another instruction, another link";
}

// A torn chain that looks the same at every second look, as often as it can.
TEST(LinkEvidence, WhatIsTornGetsNowhereHoweverOftenItIsMet) {
  std::mt19937_64 random(7);
  LinkEvidence evidence;
  for (uint32_t torn = 1; torn <= 100; ++torn) {
    const Link link{CodeId(torn), CodeId(2), 3};
    for (int meeting = 0; meeting < 200; ++meeting) {
      const int needed = evidence.ReadsNeeded(link, kInARow);
      int equal = 0;
      while (equal < needed && random() % 2 == 0) {
        ++equal;
      }
      ASSERT_LT(equal, needed) << "link " << torn << ", meeting " << meeting;
      evidence.Add(link, equal);
    }
  }
}

}  // namespace
}  // namespace ptrace_prof
