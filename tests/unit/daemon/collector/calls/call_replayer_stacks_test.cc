// A thread with several stacks: greenlets.
#include "tests/unit/daemon/collector/calls/call_replayer_fixture.h"

namespace ptrace_prof {
namespace {

// Stacks are called 0x1000 (that of the snapshot), 0x2000 and so on. + 1: the stack begins.
TEST_F(CallReplayerTest, StretchesOfAStackNestByThemselves) {
  EXPECT_EQ(Replay({{PP_TAG_SWITCH, 0x1000},
                    {PP_TAG_START, 'f'},
                    {PP_TAG_LEAVES, 0},
                    {PP_TAG_SWITCH, 0x2001},
                    {PP_TAG_START, 'g'},
                    {PP_TAG_LEAVES, 0},
                    {PP_TAG_SWITCH, 0x1000, 10},  // it left at 6
                    {PP_TAG_RETURN, 'f', 11},
                    {PP_TAG_SWITCH, 0x2000, 12},
                    {PP_TAG_RETURN, 'g', 13},
                    {PP_TAG_SWITCH, 0x1000, 14}},
                   Standing("m")),
            "0(m running 2(f 3)yield 3)yield 5(g g2 6)yield 10(m resumed g1 10(f resumed 11) 12)yield "
            "12(g resumed g2 13) 14(m resumed g1 1000000)cut");
  EXPECT_EQ(context.counts.unmatched_ends + context.counts.implied_ends + context.counts.strange, 0);
}

TEST_F(CallReplayerTest, ASwitchThatComesToNothingIsNone) {
  EXPECT_EQ(Replay({{PP_TAG_SWITCH, 0x1000}, {PP_TAG_LEAVES, 0}, {PP_TAG_SWITCH, 0x1000}, {PP_TAG_RETURN, 'm'}},
                   Standing("m")),
            "0(m running 4)");
}

TEST_F(CallReplayerTest, AStackThatNobodyKnewIsReportedFromInside) {
  EXPECT_EQ(Replay({{PP_TAG_SWITCH, 0x1000},
                    {PP_TAG_BELOW, 'h'},
                    {PP_TAG_BELOW, 'g'},
                    {PP_TAG_SWITCH, 0x2000},
                    {PP_TAG_RETURN, 'h'},
                    {PP_TAG_RETURN, 'g'}},
                   Standing("m")),
            "0(m running 4)yield 4(g resumed g2 4(h resumed 5) 6)");
  EXPECT_EQ(context.counts.unmatched_ends, 0);
}

// The records after the gap repeat the frames of each stack. Calls that are not among them have ended.
TEST_F(CallReplayerTest, AfterAGapStacksAreReportedAgain) {
  EXPECT_EQ(Replay({{PP_TAG_SWITCH, 0x1000},
                    {PP_TAG_START, 'f'},
                    {PP_TAG_SWITCH, 0x2001},
                    {PP_TAG_START, 'g'},
                    {PP_TAG_LOST, 4},
                    {PP_TAG_LOST_END, PP_GAP(0, 0)},
                    {PP_TAG_BELOW, 'i'},
                    {PP_TAG_BELOW, 'm'},
                    {PP_TAG_SWITCH, 0x1000},
                    {PP_TAG_RETURN, 'i'},
                    {PP_TAG_BELOW, 'g'},
                    {PP_TAG_SWITCH, 0x2000},
                    {PP_TAG_RETURN, 'g'}},
                   Standing("m")),
            "0(m running 2(f 3)yield 3)yield 4(g g2 5-6[4 lost] 9)yield 9(m resumed g1 9(i resumed 10) 12)yield "
            "12(g resumed g2 13)");
  EXPECT_EQ(context.counts.unmatched_ends, 0);
}

TEST_F(CallReplayerTest, CallsFromOutsideOneAfterAnotherAreNoStacksOfTheirOwn) {
  EXPECT_EQ(Replay({{PP_TAG_SWITCH, 0x1001},
                    {PP_TAG_START, 'f'},
                    {PP_TAG_RETURN, 'f'},
                    {PP_TAG_SWITCH, 0x2001},
                    {PP_TAG_START, 'f'},
                    {PP_TAG_RETURN, 'f'}}),
            "2(f 3) 5(f 6)");
}

}  // namespace
}  // namespace ptrace_prof
