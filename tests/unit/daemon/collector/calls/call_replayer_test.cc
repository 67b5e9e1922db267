// Records of one thread and the resulting calls, line by line.
#include "daemon/collector/calls/call_replayer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "daemon/collector/calls/brief_call_filter.h"
#include "tests/unit/daemon/collector/calls/call_replayer_fixture.h"

namespace ptrace_prof {
namespace {

TEST_F(CallReplayerTest, CallsNest) {
  EXPECT_EQ(Replay({{PP_TAG_START, 'f'}, {PP_TAG_START, 'g'}, {PP_TAG_RETURN, 'g'}, {PP_TAG_UNWIND, 'f'}}),
            "1(f 2(g 3) 4)unwind");
  EXPECT_EQ(context.counts.events, 4);
  EXPECT_EQ(context.counts.unmatched_ends + context.counts.implied_ends + context.counts.strange, 0);
}

TEST_F(CallReplayerTest, PiecesOfAnySizeAreTheSame) {
  const std::vector<Said> said = {
      {PP_TAG_START, 'g'}, {PP_TAG_FRAME, 0x40}, {PP_TAG_YIELD, 'g'}, {PP_TAG_FRAME, 0x40},   {PP_TAG_START, 'm'},
      {PP_TAG_SELF, 3},    {PP_TAG_C_CALL, 'L'}, {PP_TAG_CODE, 8},    {PP_TAG_C_RETURN, 'L'}, {PP_TAG_RETURN, 'm'}};
  const std::string whole = Replay(said);
  EXPECT_EQ(whole, "1(g g1 2)yield 3(nn.Module: Linear_3 4(len 5) 6)");
  for (const size_t piece : {1, 2, 3}) {
    context.generators = {};
    EXPECT_EQ(Replay(said, {}, piece), whole);
  }
}

TEST_F(CallReplayerTest, GeneratorsKeepTheirIdUntilTheyAreDone) {
  EXPECT_EQ(Replay({{PP_TAG_START, 'g'},  {PP_TAG_FRAME, 0x40}, {PP_TAG_YIELD, 'g'},
                    {PP_TAG_FRAME, 0x40}, {PP_TAG_RESUME, 'g'}, {PP_TAG_FRAME, 0x40},
                    {PP_TAG_YIELD, 'g'},  {PP_TAG_FRAME, 0x40}, {PP_TAG_THROW, 'g'},
                    {PP_TAG_FRAME, 0x40}, {PP_TAG_UNWIND, 'g'}, {PP_TAG_FRAME, 0x40},
                    {PP_TAG_START, 'h'},  // the next generator, at the same address
                    {PP_TAG_FRAME, 0x40}, {PP_TAG_RETURN, 'h'}, {PP_TAG_FRAME, 0x40},
                    {PP_TAG_RESUME, 'i'},  // begun before the snapshot
                    {PP_TAG_FRAME, 0x80}, {PP_TAG_YIELD, 'i'},  {PP_TAG_FRAME, 0x80}}),
            "1(g g1 2)yield 3(g resumed g1 4)yield 5(g thrown g1 6)unwind 7(h g2 8) 9(i resumed g3 10)yield");
}

TEST_F(CallReplayerTest, TheSnapshotsFramesRunFromTheBeginning) {
  EXPECT_EQ(Replay({{PP_TAG_START, 'c'}, {PP_TAG_RETURN, 'c'}, {PP_TAG_RETURN, 'b'}}, Standing("ab")),
            "0(a running 0(b running 1(c 2) 3) 1000000)cut");
}

TEST_F(CallReplayerTest, WhatHasBroughtTheTracerInIsNotShown) {
  ThreadSnapshot snapshot = Standing("abc");
  snapshot.frames[1].is_ours = snapshot.frames[2].is_ours = true;
  const std::vector<Said> said = {{PP_TAG_C_CALL, 'L'}, {PP_TAG_CODE, 8},     {PP_TAG_C_RETURN, 'L'},
                                  {PP_TAG_RETURN, 'c'}, {PP_TAG_RETURN, 'b'}, {PP_TAG_START, 'f'},
                                  {PP_TAG_RETURN, 'f'}};
  EXPECT_EQ(Replay(said, snapshot), "0(a running 5(f 6) 1000000)cut");
  EXPECT_EQ(context.counts.unmatched_ends + context.counts.nameless, 0);
}

TEST_F(CallReplayerTest, AFirstStartMayReportOfTheFrameThatStandsAtItsBeginning) {
  EXPECT_EQ(Replay({{PP_TAG_START, 'b'}, {PP_TAG_RETURN, 'b'}}, Standing("ab", true)),
            "0(a running 0(b running 2) 1000000)cut");
  EXPECT_EQ(context.counts.reconciled, 1);
  // The frame is not at its beginning, so it calls itself.
  EXPECT_EQ(Replay({{PP_TAG_START, 'b'}, {PP_TAG_RETURN, 'b'}}, Standing("ab")),
            "0(a running 0(b running 1(b 2) 1000000)cut 1000000)cut");
  // The frame has reported its start already, so it calls itself.
  ThreadSnapshot reported = Standing("ab", true);
  reported.unarmed_frame = RemoteAddr(0x2000);
  reported.unarmed_tag = PP_TAG_START;
  EXPECT_EQ(Replay({{PP_TAG_START, 'b'}, {PP_TAG_RETURN, 'b'}}, reported),
            "0(a running 0(b running 1(b 2) 1000000)cut 1000000)cut");
  // The frame was about to report its start, though its instruction no longer shows that.
  reported.frames.back().at_beginning = false;
  reported.unarmed_pending = true;
  EXPECT_EQ(Replay({{PP_TAG_START, 'b'}, {PP_TAG_RETURN, 'b'}}, reported), "0(a running 0(b running 2) 1000000)cut");
  // Only the first event is treated so.
  EXPECT_EQ(Replay({{PP_TAG_START, 'c'}, {PP_TAG_RETURN, 'c'}, {PP_TAG_START, 'b'}}, Standing("ab", true)),
            "0(a running 0(b running 1(c 2) 3(b 1000000)cut 1000000)cut 1000000)cut");
  EXPECT_EQ(context.counts.unmatched_ends, 0);
}

TEST_F(CallReplayerTest, AFirstEventIsOfTheFrameThatItNames) {
  // The top frame had begun before events were switched on, and calls itself.
  first_frame = RemoteAddr(0x9000);
  const std::vector<Said> recursion = {
      {PP_TAG_START, 'f'}, {PP_TAG_RETURN, 'f'}, {PP_TAG_RETURN, 'f'}, {PP_TAG_RETURN, 'f'}};
  EXPECT_EQ(Replay(recursion, Standing("ff", true)), "0(f running 0(f running 1(f 2) 3) 4)");
  EXPECT_EQ(context.counts.reconciled, 0);
  first_frame = RemoteAddr(0x2000);
  EXPECT_EQ(Replay({{PP_TAG_START, 'f'}, {PP_TAG_RETURN, 'f'}, {PP_TAG_RETURN, 'f'}}, Standing("ff")),
            "0(f running 0(f running 2) 3)");
  EXPECT_EQ(context.counts.reconciled, 1);
  // The frames above it are gone.
  first_frame = RemoteAddr(0x1000);
  EXPECT_EQ(Replay({{PP_TAG_RETURN, 'f'}}, Standing("ff")), "0(f running 0(f running 1) 1)");
  EXPECT_EQ(context.counts.reconciled, 2);
  EXPECT_EQ(context.counts.unmatched_ends + context.counts.implied_ends, 0);
}

TEST_F(CallReplayerTest, AFirstResumeIsOfTheSameFrameOnly) {
  const ThreadSnapshot snapshot = Standing("ag");
  EXPECT_EQ(
      Replay({{PP_TAG_RESUME, 'g'}, {PP_TAG_FRAME, 0x2000}, {PP_TAG_YIELD, 'g'}, {PP_TAG_FRAME, 0x2000}}, snapshot),
      "0(a running 0(g running 2)yield 1000000)cut");
  context.generators = {};
  EXPECT_EQ(
      Replay({{PP_TAG_RESUME, 'g'}, {PP_TAG_FRAME, 0x7000}, {PP_TAG_YIELD, 'g'}, {PP_TAG_FRAME, 0x7000}}, snapshot),
      "0(a running 0(g running 1(g resumed g1 2)yield 1000000)cut 1000000)cut");
}

TEST_F(CallReplayerTest, ATopThatHadReportedOfItsEndIsGone) {
  // The thread reported the end before it was armed …
  ThreadSnapshot reported = Standing("aff");
  reported.unarmed_frame = RemoteAddr(0x3000);
  reported.unarmed_tag = PP_TAG_RETURN;
  EXPECT_EQ(Replay({{PP_TAG_RETURN, 'f'}, {PP_TAG_RETURN, 'a'}}, reported),
            "0(a running 0(f running 0(f running 0) 1) 2)");
  // … or is about to …
  reported.unarmed_pending = true;
  EXPECT_EQ(Replay({{PP_TAG_RETURN, 'f'}, {PP_TAG_RETURN, 'f'}}, reported),
            "0(a running 0(f running 0(f running 1) 2) 1000000)cut");
  // … or the first end is that of the caller.
  EXPECT_EQ(Replay({{PP_TAG_RETURN, 'a'}}, Standing("ab")), "0(a running 0(b running 1) 1)");
  EXPECT_EQ(context.counts.reconciled, 2);
  // With direct recursion a first end is that of the top frame.
  EXPECT_EQ(Replay({{PP_TAG_RETURN, 'f'}}, Standing("ff")), "0(f running 0(f running 1) 1000000)cut");
  // A generator's end names its frame.
  EXPECT_EQ(Replay({{PP_TAG_YIELD, 'f'}, {PP_TAG_FRAME, 0x1000}}, Standing("ff")),
            "0(f running 0(f running 1) 1)yield");
  EXPECT_EQ(context.counts.unmatched_ends + context.counts.implied_ends, 0);
}

TEST_F(CallReplayerTest, ACFunctionThatRanAtTheStopMayEnd) {
  EXPECT_EQ(Replay({{PP_TAG_START, 'k'},
                    {PP_TAG_RETURN, 'k'},  // called back by the C function
                    {PP_TAG_C_RETURN, 'S'},
                    {PP_TAG_C_CALL, 'L'},
                    {PP_TAG_CODE, 8},
                    {PP_TAG_C_RAISE, 'L'},
                    {PP_TAG_C_RETURN, 'L'}},
                   Standing("a")),
            "0(a running 1(k 2) 4(len 5)unwind 1000000)cut");
  EXPECT_EQ(context.counts.reconciled, 1);
  EXPECT_EQ(context.counts.unmatched_ends, 1);
}

TEST_F(CallReplayerTest, EndsThatFitNoCallAreCounted) {
  EXPECT_EQ(Replay({{PP_TAG_RETURN, 'x'},
                    {PP_TAG_START, 'f'},
                    {PP_TAG_RETURN, 'g'},
                    {PP_TAG_C_RETURN, 'L'},
                    {PP_TAG_RETURN, 'f'},
                    {PP_TAG_UNWIND, 'f'}}),
            "2(f 5)");
  EXPECT_EQ(context.counts.unmatched_ends, 4);
}

TEST_F(CallReplayerTest, ACallersEndEndsItsCallees) {
  EXPECT_EQ(
      Replay({{PP_TAG_START, 'f'}, {PP_TAG_START, 'g'}, {PP_TAG_C_CALL, 'L'}, {PP_TAG_CODE, 8}, {PP_TAG_RETURN, 'f'}}),
      "1(f 2(g 3(len 4) 4) 4)");
  EXPECT_EQ(context.counts.implied_ends, 2);
}

TEST_F(CallReplayerTest, EndsOfExcludedFunctionsMeanNothing) {
  names.Exclude(RemoteAddr('x'));
  EXPECT_EQ(
      Replay(
          {{PP_TAG_START, 'f'}, {PP_TAG_UNWIND, 'x'}, {PP_TAG_THROW, 'x'}, {PP_TAG_UNWIND, 'x'}, {PP_TAG_RETURN, 'f'}}),
      "1(f 5)");
  EXPECT_EQ(context.counts.ends_of_excluded, 3);
  EXPECT_EQ(context.counts.unmatched_ends, 0);
}

class Excluding : public CallReplayerTest {
 protected:
  static v1::TraceOptions Options() {
    v1::TraceOptions options;
    options.add_exclude("x");
    options.add_exclude("nothing");
    return options;
  }
  CallFilter filter{Options()};
  CallNames chosen{stacks, letters, &filter};
  CallContext filtered{.names = chosen};
  std::string Filtered(const std::vector<Said>& said, const ThreadSnapshot& snapshot = {}) {
    Lines lines(stacks);
    CallReplayer replayer(filtered, lines, Nanos(0));
    replayer.Start(snapshot);
    std::vector<pp_record> records;
    uint64_t at = 0;
    for (const Said& one : said) {
      at += one.tag >= PP_TAG_FRAME && one.tag <= PP_TAG_CODE ? 0 : 1;
      records.push_back({PP_WHEN_TAG(at, one.tag), one.value});
    }
    replayer.Feed(records, TickMap::Monotonic(), Nanos(1'000'000));
    replayer.Finish(Nanos(1'000'000));
    EXPECT_EQ(lines.depth, 0);
    return lines.text;
  }
};

TEST_F(Excluding, WhatIsInItTakesItsPlace) {
  EXPECT_EQ(Filtered({{PP_TAG_START, 'f'},
                      {PP_TAG_START, 'x'},
                      {PP_TAG_START, 'g'},
                      {PP_TAG_START, 'x'},
                      {PP_TAG_UNWIND, 'x'},
                      {PP_TAG_RETURN, 'g'},
                      {PP_TAG_RETURN, 'x'},
                      {PP_TAG_RETURN, 'f'}}),
            "1(f 3(g 6) 8)");
  EXPECT_EQ(filtered.counts.unmatched_ends, 0);
  EXPECT_EQ(filtered.counts.implied_ends, 0);
  EXPECT_EQ(filter.rows()[0], (LeftOut{LeftOutCause::kExcluded, "x", 1, 2, false}));
  EXPECT_EQ(filter.rows()[1], (LeftOut{LeftOutCause::kExcluded, "nothing", 0, 0, false}));
}

TEST_F(Excluding, WhatIsNotPythonGoesWithItsCaller) {
  EXPECT_EQ(Filtered({{PP_TAG_START, 'f'},
                      {PP_TAG_C_CALL, 'L'},
                      {PP_TAG_CODE, 8},
                      {PP_TAG_C_RETURN, 'L'},
                      {PP_TAG_START, 'x'},
                      {PP_TAG_C_CALL, 'L'},
                      {PP_TAG_CODE, 8},
                      {PP_TAG_C_RETURN, 'L'},
                      {PP_TAG_RETURN, 'x'},
                      {PP_TAG_RETURN, 'f'}}),
            "1(f 2(len 3) 8)");
  EXPECT_EQ(filter.rows()[0].calls, 2);
}

TEST_F(Excluding, GeneratorsAndWhatRanBefore) {
  EXPECT_EQ(Filtered({{PP_TAG_YIELD, 'x'},
                      {PP_TAG_START, 'g'},
                      {PP_TAG_RESUME, 'x'},
                      {PP_TAG_FRAME, 0x99},
                      {PP_TAG_YIELD, 'x'},
                      {PP_TAG_FRAME, 0x99},
                      {PP_TAG_THROW, 'x'},
                      {PP_TAG_FRAME, 0x99},
                      {PP_TAG_UNWIND, 'x'},
                      {PP_TAG_FRAME, 0x99},
                      {PP_TAG_RETURN, 'g'},
                      {PP_TAG_RETURN, 'f'}},
                     Standing("fx")),
            "0(f running 2(g 7) 8)");
  EXPECT_EQ(filtered.counts.unmatched_ends, 0);
  EXPECT_EQ(filter.rows()[0].calls, 0);
}

TEST_F(CallReplayerTest, WhatAGapLeftAloneGoesOn) {
  EXPECT_EQ(Replay({{PP_TAG_START, 'f'},
                    {PP_TAG_START, 'g'},
                    {PP_TAG_LOST, 500, 10},
                    {PP_TAG_LOST_END, PP_GAP(0, 0), 20},
                    {PP_TAG_RETURN, 'g', 30},
                    {PP_TAG_RETURN, 'f', 40}}),
            "1(f 2(g 10-20[500 lost] 30) 40)");
  EXPECT_EQ(context.counts.lost, 500);
  EXPECT_EQ(context.counts.gaps, 1);
}

TEST_F(CallReplayerTest, TimeForWhichTheThreadWaited) {
  const std::vector<Said> held = {
      {PP_TAG_LOST, 0, 10}, {PP_TAG_LOST_END, PP_GAP(0, 0), 20}, {PP_TAG_RETURN, 'g', 20}, {PP_TAG_RETURN, 'f', 40}};
  std::vector<Said> said = {{PP_TAG_START, 'f'}, {PP_TAG_START, 'g'}};
  said.insert(said.end(), held.begin(), held.end());
  EXPECT_EQ(Replay(said), "1(f 2(g 10-20[0 lost] 20) 40)");
  EXPECT_EQ(context.counts.lost, 0);
  EXPECT_EQ(context.counts.gaps, 0);
  EXPECT_EQ(context.counts.unmatched_ends, 0);
}

TEST_F(CallReplayerTest, AWaitBeforeTheFirstEventLeavesTheSnapshotToBeWeighed) {
  EXPECT_EQ(Replay({{PP_TAG_LOST, 0, 10}, {PP_TAG_LOST_END, PP_GAP(0, 0), 20}, {PP_TAG_START, 'g', 20}},
                   Standing("fg", true)),
            "0(f running 0(g running 10-20[0 lost] 1000000)cut 1000000)cut");
  EXPECT_EQ(context.counts.reconciled, 1);
}

TEST_F(CallReplayerTest, AGapMayEndCallsAndBeginCalls) {
  const auto replay = [&](int32_t net, int32_t lowest, const std::vector<Said>& after) {
    std::vector<Said> said = {
        {PP_TAG_START, 'f'}, {PP_TAG_START, 'g'}, {PP_TAG_LOST, 9, 10}, {PP_TAG_LOST_END, PP_GAP(net, lowest), 20}};
    said.insert(said.end(), after.begin(), after.end());
    return Replay(said);
  };
  EXPECT_EQ(replay(-1, -1, {{PP_TAG_RETURN, 'f', 30}}), "1(f 2(g 10)lost 10-20[9 lost] 30)");
  // The start of h was lost, but its end is expected. The calls that h makes are shown.
  EXPECT_EQ(replay(1, 0,
                   {{PP_TAG_START, 'i', 25},
                    {PP_TAG_RETURN, 'i', 26},
                    {PP_TAG_RETURN, 'h', 30},
                    {PP_TAG_RETURN, 'g', 31},
                    {PP_TAG_RETURN, 'f', 32}}),
            "1(f 2(g 10-20[9 lost] 25(i 26) 31) 32)");
  // g has ended, and h took its place: even if it were g again, it is another call.
  EXPECT_EQ(replay(0, -1, {{PP_TAG_RETURN, 'g', 30}, {PP_TAG_RETURN, 'f', 31}}), "1(f 2(g 10)lost 10-20[9 lost] 31)");
  EXPECT_EQ(
      replay(3, 0,
             {{PP_TAG_C_RETURN, 'L', 30}, {PP_TAG_YIELD, 'y', 31}, {PP_TAG_UNWIND, 'x', 32}, {PP_TAG_RETURN, 'g', 33}}),
      "1(f 2(g 10-20[9 lost] 33) 1000000)cut");
  EXPECT_EQ(context.counts.unmatched_ends + context.counts.implied_ends, 0);
  // Impossible values are bounded.
  EXPECT_EQ(replay(INT32_MAX, INT32_MIN, {}), "1(f 2(g 10)lost 10)lost 10-20[9 lost]");
  EXPECT_EQ(replay(INT32_MIN, INT32_MAX, {}), "1(f 2(g 10-20[9 lost] 1000000)cut 1000000)cut");
}

TEST_F(CallReplayerTest, AGapWithoutItsEnd) {
  EXPECT_EQ(Replay({{PP_TAG_LOST, 7, 10}}), "10-1000000[7 lost]");
  EXPECT_EQ(Replay({{PP_TAG_LOST, 7, 10}, {PP_TAG_START, 'f', 12}, {PP_TAG_RETURN, 'f', 13}}),
            "10-12[7 lost] 12(f 13)");
  EXPECT_EQ(Replay({{PP_TAG_LOST_END, 7, 10}}), "");
  EXPECT_EQ(context.counts.strange, 2);
}

TEST_F(CallReplayerTest, AGapWithMoreEventsThanThereWasTimeFor) {
  EXPECT_EQ(Replay({{PP_TAG_LOST, UINT64_MAX, 10}, {PP_TAG_LOST_END, PP_GAP(0, 0), 2000}}), "10-2000[0 lost]");
  EXPECT_EQ(Replay({{PP_TAG_LOST, uint64_t{1} << 40, 10}}), "10-1000000[0 lost]");
  EXPECT_EQ(context.counts.lost, 0);
  EXPECT_EQ(context.counts.strange, 2);
}

TEST_F(CallReplayerTest, TimesNeverGoBackNorBeyondNow) {
  EXPECT_EQ(Replay({{PP_TAG_START, 'f', 50},
                    {PP_TAG_START, 'g', 40},
                    {PP_TAG_RETURN, 'g', 2'000'000'000},
                    {PP_TAG_RETURN, 'f', 60}}),
            "50(f 50(g 1000000) 1000000)");
}

TEST_F(CallReplayerTest, AFunctionThatIsGoneIsAMarker) {
  EXPECT_EQ(Replay({{PP_TAG_START, '?'}, {PP_TAG_RETURN, '?'}}), "1([code that is gone] 2)");
}

TEST_F(CallReplayerTest, NamesAreReadOnceAndAgainWhenTheirAddressHasANewTenant) {
  Replay({{PP_TAG_START, 'f'}, {PP_TAG_RETURN, 'f'}, {PP_TAG_START, 'f'}, {PP_TAG_RETURN, 'f'}});
  EXPECT_EQ(letters.reads, 1);
  letters.renamed['f'] = "newcomer";
  EXPECT_EQ(Replay({{PP_TAG_START, 'f'}, {PP_TAG_RETURN, 'f'}}), "1(f 2)");
  names.Revalidate();
  EXPECT_EQ(Replay({{PP_TAG_START, 'f'}, {PP_TAG_RETURN, 'f'}}), "1(newcomer 2)");
}

TEST_F(CallReplayerTest, NamesAreCheckedOncePerRoundAndTogetherWhereTheyWereUsedLately) {
  const std::vector<Said> both = {{PP_TAG_START, 'f'}, {PP_TAG_RETURN, 'f'}, {PP_TAG_START, 'g'}, {PP_TAG_RETURN, 'g'}};
  const std::vector<Said> one = {{PP_TAG_START, 'f'}, {PP_TAG_RETURN, 'f'}, {PP_TAG_START, 'f'}, {PP_TAG_RETURN, 'f'}};
  Replay(both);
  names.Revalidate();  // checks both
  Replay(one);
  names.Revalidate();  // checks only f
  Replay(both);        // g was not used lately
  Replay(both);
  EXPECT_EQ(letters.checks, (std::vector<size_t>{2, 1, 1}));
  EXPECT_EQ(letters.reads, 2);
  names.Revalidate();
  names.Revalidate();
  letters.renamed['g'] = "newcomer";
  EXPECT_EQ(Replay(both), "1(f 2) 3(newcomer 4)");
  EXPECT_EQ(letters.reads, 3);
}

TEST_F(CallReplayerTest, CallsThatAreNotToBeShownStillNest) {
  EXPECT_EQ(
      Replay(
          {{PP_TAG_C_CALL, 'T'}, {PP_TAG_SELF, 9}, {PP_TAG_START, 'f'}, {PP_TAG_RETURN, 'f'}, {PP_TAG_C_RETURN, 'T'}}),
      "2(f 3)");
  EXPECT_EQ(context.counts.unmatched_ends + context.counts.implied_ends, 0);
}

TEST_F(CallReplayerTest, TheStepFunctionsReturnEndsAStep) {
  context.steps.Know(RemoteAddr('s'), StepRole::kStep);
  EXPECT_EQ(Replay({{PP_TAG_START, 's'}, {PP_TAG_RETURN, 's'}, {PP_TAG_START, 's'}, {PP_TAG_UNWIND, 's'}}),
            "1(s 2) 2step 3(s 4)unwind");
}

TEST_F(CallReplayerTest, OfStepsWithinEachOtherTheOutermostCounts) {
  context.steps.Know(RemoteAddr('s'), StepRole::kStep);
  context.steps.Know(RemoteAddr('t'), StepRole::kStep);
  EXPECT_EQ(Replay({{PP_TAG_START, 's'}, {PP_TAG_START, 't'}, {PP_TAG_RETURN, 't'}, {PP_TAG_RETURN, 's'}}),
            "1(s 2(t 3) 4) 4step");
}

TEST_F(CallReplayerTest, APassEndsWhenAnOptimizerStepsAgain) {
  context.steps.Know(RemoteAddr('s'), StepRole::kStep);
  context.steps.Know(RemoteAddr('o'), StepRole::kOptimizer);
  const auto step_of = [](uint64_t optimizer) {
    return std::vector<Said>{
        {PP_TAG_START, 's'}, {PP_TAG_START, 'o'}, {PP_TAG_SELF, optimizer}, {PP_TAG_RETURN, 'o'}, {PP_TAG_RETURN, 's'}};
  };
  std::vector<Said> said;
  for (const uint64_t optimizer : {5, 6, 5, 6}) {
    const auto one = step_of(optimizer);
    said.insert(said.end(), one.begin(), one.end());
  }
  EXPECT_EQ(Replay(said), "1(s 2(o 3) 4) 4step 5(s 6(o 7) 8) 9(s 10(o 11) 12) 12step 13(s 14(o 15) 16)");
}

TEST_F(CallReplayerTest, DeepRecursionIsBounded) {
  std::vector<pp_record> records;
  constexpr uint64_t kDepth = 3'000'000;
  for (uint64_t i = 0; i < kDepth; ++i) {
    records.push_back({PP_WHEN_TAG(i, PP_TAG_START), 'f'});
  }
  for (uint64_t i = 0; i < kDepth; ++i) {
    records.push_back({PP_WHEN_TAG(kDepth + i, PP_TAG_RETURN), 'f'});
  }
  class Counter : public CallSink {
   public:
    void Begin(Nanos, FrameId, CallEntry, GeneratorId) override { ++begins; }
    void End(Nanos, CallExit exit) override { ends += exit == CallExit::kReturn ? 1 : 0; }
    void Lost(Nanos, Nanos, uint64_t) override {}
    uint64_t begins = 0;
    uint64_t ends = 0;
  } counter;
  CallReplayer replayer(context, counter, Nanos(0));
  replayer.Feed(records, TickMap::Monotonic(), Nanos(INT64_MAX));
  replayer.Finish(Nanos(INT64_MAX));
  EXPECT_EQ(counter.begins, 1 << 20);
  EXPECT_EQ(counter.ends, 1 << 20);
  EXPECT_EQ(context.counts.too_deep, kDepth - (1 << 20));
  EXPECT_EQ(context.counts.unmatched_ends, 0);
}

TEST_F(CallReplayerTest, NonsenseNests) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<pp_record> records;
    for (int i = 0; i < 300; ++i) {
      const uint64_t when = random() % (round % 3 == 0 ? UINT64_MAX : 2000);
      records.push_back({PP_WHEN_TAG(when, random() % 32), random() % 20 == 0 ? random() : 'a' + random() % 5});
    }
    ReplayRecords(records, round % 2 == 0 ? Standing("abcab", round % 4 == 0) : ThreadSnapshot{}, 1 + random() % 50);
  }
}

TEST_F(CallReplayerTest, TheWordOfTheRingSaysWhatWasLastReported) {
  ThreadSnapshot snapshot;
  snapshot.SetUnarmed(PP_UNARMED(0x7f1234567890, PP_TAG_YIELD) | PP_UNARMED_PENDING);
  EXPECT_EQ(snapshot.unarmed_frame, RemoteAddr(0x7f1234567890));
  EXPECT_EQ(snapshot.unarmed_tag, PP_TAG_YIELD);
  EXPECT_TRUE(snapshot.unarmed_pending);
  snapshot.SetUnarmed(0);
  EXPECT_TRUE(snapshot.unarmed_frame.IsNull());
  EXPECT_FALSE(snapshot.unarmed_pending);
}

TEST(BriefCallFilterTest, LeavesOutWhatIsTooShortAndNothingElse) {
  StackTable stacks;
  const auto function = [&](const char* name) {
    Frame frame;
    frame.function = name;
    return stacks.InternFrame(frame);
  };
  Lines lines(stacks);
  BriefCallFilter filter(lines, Nanos(100));
  const auto begin = [&](int64_t at, const char* name, CallEntry entry = CallEntry::kCall) {
    filter.Begin(Nanos(at), function(name), entry, GeneratorId());
  };
  const auto end = [&](int64_t at, CallExit exit = CallExit::kReturn) { filter.End(Nanos(at), exit); };
  begin(0, "r", CallEntry::kRunning);
  begin(10, "a");
  begin(20, "b");
  end(30);  // too short
  begin(40, "c");
  begin(50, "d");
  end(149);  // 99
  end(150);  // 110, so a has lasted long enough too
  end(151);
  begin(200, "e");
  end(300, CallExit::kYield);  // just enough
  begin(400, "f");
  filter.Lost(Nanos(410), Nanos(420), 7);
  end(430);
  begin(500, "g");
  end(510, CallExit::kCut);
  end(510, CallExit::kCut);
  EXPECT_EQ(lines.text,
            "0(r running 10(a 40(c 150) 151) 200(e 300)yield 400(f 410-420[7 lost] 430) 500(g 510)cut 510)cut");
  EXPECT_EQ(filter.left_out(), 2);
}

TEST(TickMapTest, IsALine) {
  // 3 GHz, calibrated at tick 9,000,000,000 = 5 s.
  const TickMap map{.ticks = 9'000'000'000, .at = Nanos(5'000'000'000), .nanos_per_tick = (uint64_t{1} << 32) / 3};
  EXPECT_EQ(map.ToNanos(9'000'000'000).value, 5'000'000'000);
  EXPECT_NEAR(static_cast<double>(map.ToNanos(12'000'000'000).value), 6e9, 2);
  EXPECT_NEAR(static_cast<double>(map.ToNanos(6'000'000'000).value), 4e9, 2);
  EXPECT_GE(map.ToNanos(UINT64_MAX >> 4), Nanos());
  EXPECT_GE(map.ToNanos(0), Nanos());
}

}  // namespace
}  // namespace ptrace_prof
