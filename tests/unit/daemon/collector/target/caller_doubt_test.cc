// A generator without a caller: for a moment, or for good.
#include "daemon/collector/target/caller_doubt.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

RawFrame FrameAt(uint64_t address, uint64_t instruction) {
  RawFrame frame;
  frame.address = address;
  frame.instruction = instruction;
  return frame;
}

class OneThread {
 public:
  // Whether the callers of the last frame are missing. `frames`: leaf first.
  bool Lacks(const std::vector<RawFrame>& frames, bool may_suspend) {
    const bool lacks = doubt_.LacksCaller(chain_, frames, may_suspend);
    chain_.frames.assign(frames.rbegin(), frames.rend());
    return lacks;
  }

 private:
  CallerDoubt doubt_;
  BuiltChain chain_;
};

const RawFrame kMain = FrameAt(100, 1);

TEST(CallerDoubt, WhereAThreadBeganElsewhereItsCallersAreMissingAsLongAsItStandsThere) {
  OneThread thread;
  EXPECT_FALSE(thread.Lacks({FrameAt(500, 7), kMain}, false));
  for (int i = 0; i < 20; ++i) {  // it has no CPU
    EXPECT_TRUE(thread.Lacks({FrameAt(500, 8)}, true)) << i;
  }
  EXPECT_FALSE(thread.Lacks({FrameAt(500, 9), kMain}, false));
  EXPECT_TRUE(thread.Lacks({FrameAt(500, 8)}, true));
}

TEST(CallerDoubt, WhatCCodeGoesThroughBeginsThere) {
  OneThread thread;
  EXPECT_FALSE(thread.Lacks({kMain}, false));
  int missing = 0;
  for (uint64_t i = 0; i < 20; ++i) {
    missing += thread.Lacks({FrameAt(500, 8 + i)}, true) ? 1 : 0;
  }
  EXPECT_EQ(missing, 4);
}

TEST(CallerDoubt, NothingIsMissingOfAThreadThatWasNeverSeenElsewhere) {
  OneThread thread;
  EXPECT_FALSE(thread.Lacks({FrameAt(500, 8)}, true));
  EXPECT_FALSE(thread.Lacks({FrameAt(500, 9)}, true));
}

}  // namespace
}  // namespace ptrace_prof
