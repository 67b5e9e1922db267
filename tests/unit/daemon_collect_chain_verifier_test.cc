#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/collect/chain_verifier.h"
#include "tests/support/fake_python.h"

namespace ptrace_prof {
namespace {

class ChainVerifierTest : public ::testing::Test {
 protected:
  ChainVerifierTest() {
    main_ = python_.AddCode("main");
    fa_ = python_.AddCode("fa");
    fb_ = python_.AddCode("fb");
    bottom_ = python_.Allocate(64);
    top_ = python_.Allocate(64);
    InFa();
  }
  void InFa() {
    python_.PutFrame(bottom_, RemoteAddr(), main_, 5);
    python_.PutFrame(top_, bottom_, fa_, 1);
    python_.SetCurrent(top_);
  }
  void InFb() {
    python_.PutFrame(bottom_, RemoteAddr(), main_, 9);
    python_.PutFrame(top_, bottom_, fb_, 1);
    python_.SetCurrent(top_);
  }
  // The caller stands at the call of fb, the frame above is still fa's: no instant had this stack.
  void Torn() {
    InFa();
    python_.PutFrame(bottom_, RemoteAddr(), main_, 9);
  }
  VerifiedStack Sample() {
    const CollectStatus collected = stack_.Collect(python_, Nanos());
    return verifier_.Verify(Tid(), collected, stack_, chain_);
  }
  std::string Names(StackId stack) {
    std::string text;
    for (StackId at = stack; at != kEmptyStack; at = stacks_.parent(at)) {
      text += (text.empty() ? "" : "<") + stacks_.frame(stacks_.leaf(at)).function;
    }
    return text;
  }

  FakePython python_;
  StackTable stacks_;
  CodeCache codes_{python_, python_.layout, python_.code_type};
  StackLinker linker_{codes_, stacks_, false};
  ChainVerifier verifier_{Pid(getpid()), python_, linker_, {.allow_stops = false, .is_only_sample = true}};
  ThreadStack stack_{python_.layout, python_.state, python_.interpreter, 4096};
  LinkedChain chain_;
  RemoteAddr main_, fa_, fb_, bottom_, top_;
};

TEST_F(ChainVerifierTest, AStackThatHoldsStillIsConfirmedOnceAndThenKnown) {
  EXPECT_EQ(Names(Sample().stack), "fa<main");
  EXPECT_EQ(verifier_.counters().confirmed, 1u);
  const size_t before = python_.batches;
  const VerifiedStack again = Sample();
  EXPECT_EQ(Names(again.stack), "fa<main");
  EXPECT_EQ(again.quality, SampleQuality::kVerified);
  EXPECT_EQ(python_.batches, before + 1) << "a known stack must cost one read";
}

TEST_F(ChainVerifierTest, AGeneratorThatHasYieldedIsNoRootHoweverLongItStandsStill) {
  for (const uint32_t flag : {0x20u, 0x80u, 0x200u}) {
    const RemoteAddr generator = python_.AddCode("generator");
    python_.Put(generator + python_.layout.code_flags, flag);
    python_.PutFrame(bottom_, RemoteAddr(), generator, 5);
    python_.PutFrame(top_, bottom_, fa_, 1);
    python_.SetCurrent(top_);
    for (int i = 0; i < 3; ++i) {
      const VerifiedStack sample = Sample();
      EXPECT_EQ(sample.quality, SampleQuality::kTruncated);
      EXPECT_EQ(Names(sample.stack), kTruncatedMarker);
    }
    for (int i = 0; i < 10; ++i) {  // nor under stops, which may all meet it before it gets a CPU again
      const CollectStatus collected = stack_.Collect(python_, Nanos());
      EXPECT_EQ(verifier_.Accept(collected, stack_, chain_).quality, SampleQuality::kTruncated);
    }
    EXPECT_EQ(Sample().quality, SampleQuality::kTruncated);
  }
}

// A frame is the youngest before its caller is written into it, and its thread may lose its CPU in between.
TEST_F(ChainVerifierTest, AFrameThatHasRunNothingYetIsNoRootHoweverLongItStandsStill) {
  python_.PutFrame(top_, RemoteAddr(), fa_, 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Sample().quality, SampleQuality::kTruncated);
    const CollectStatus collected = stack_.Collect(python_, Nanos());
    EXPECT_EQ(verifier_.Accept(collected, stack_, chain_).quality, SampleQuality::kTruncated);
  }
  python_.PutFrame(top_, RemoteAddr(), fa_, 1);
  EXPECT_EQ(Names(Sample().stack), "fa");
}

TEST_F(ChainVerifierTest, AnImpossibleLinkIsNeverBelievedWhenItDoesNotLast) {
  Sample();
  InFb();
  Sample();
  // From here on the target alternates between the two calls at every read; this read is torn.
  Torn();
  size_t reads = 0;
  python_.on_read = [&](FakePython&) { ++reads == 1 ? Torn() : (reads % 2 == 0 ? InFa() : InFb()); };
  EXPECT_EQ(Names(Sample().stack), "fa<main") << "fa is called from one place only, whatever main did a moment later";
  python_.on_read = nullptr;
  // What was torn did not enter the set: it needs confirmation again.
  const uint64_t confirmed = verifier_.counters().confirmed;
  InFa();
  Sample();
  EXPECT_EQ(verifier_.counters().confirmed, confirmed);
}

// The leaf tells the moment: the caller may have gone on by the time that it was read.
TEST_F(ChainVerifierTest, ACalleeThatReturnedWasCalledFromWhereItIsKnownToBe) {
  const VerifiedStack known = Sample();
  python_.PutFrame(bottom_, RemoteAddr(), main_, 7);  // past the call of fa, whose frame is still there
  const VerifiedStack sample = Sample();
  EXPECT_EQ(Names(sample.stack), "fa<main");
  EXPECT_EQ(sample.stack, known.stack);
  EXPECT_EQ(sample.quality, SampleQuality::kVerified);
}

TEST_F(ChainVerifierTest, OneThatIsCalledFromSeveralPlacesLeavesItsCallerAsTheLeaf) {
  Sample();
  python_.PutFrame(bottom_, RemoteAddr(), main_, 6);  // a second call of fa; no other known
  for (int i = 0; i < 200; ++i) {
    Sample();  // not mistaken for ever: it is looked at more closely in the end
  }
  linker_.Learn(stack_.frames(), false);
  python_.PutFrame(bottom_, RemoteAddr(), main_, 7);
  const VerifiedStack sample = Sample();
  EXPECT_EQ(Names(sample.stack), "main");
  EXPECT_EQ(sample.quality, SampleQuality::kVerified);
}

// On the data stack the callee's frame stays above the next call of its caller's caller.
TEST_F(ChainVerifierTest, ALinkThatIsNeverFoundIsOfTheOnlyCallerThereIs) {
  const RemoteAddr leaf = python_.AddCode("leaf");
  const RemoteAddr third = python_.Allocate(64);
  const auto in_fa = [&] {
    InFa();
    python_.PutFrame(third, top_, leaf, 1);
    python_.SetCurrent(third);
  };
  const auto torn = [&] {
    InFb();
    python_.PutFrame(third, top_, leaf, 1);
    python_.SetCurrent(third);
  };
  in_fa();
  ASSERT_EQ(Names(Sample().stack), "leaf<fa<main");
  InFb();
  Sample();
  VerifiedStack sample;
  for (int i = 0; i < 40; ++i) {
    torn();
    size_t reads = 0;
    python_.on_read = [&](FakePython&) { ++reads % 2 == 0 ? in_fa() : torn(); };
    sample = Sample();
    python_.on_read = nullptr;
    ASSERT_EQ(Names(sample.stack), i < 8 ? "[truncated]<fb<main" : "leaf<fa<main") << i;
  }
  EXPECT_EQ(sample.quality, SampleQuality::kVerified);
}

// The same where two calls were left since: the leaf is what is known best.
TEST_F(ChainVerifierTest, AChainIsMendedFromItsLeafUpwards) {
  const RemoteAddr third = python_.Allocate(64);
  const RemoteAddr fourth = python_.Allocate(64);
  const RemoteAddr leaf = python_.AddCode("leaf");
  const RemoteAddr inner = python_.AddCode("inner");
  const RemoteAddr other = python_.AddCode("other");
  InFa();
  python_.PutFrame(third, top_, leaf, 1);
  python_.SetCurrent(third);
  ASSERT_EQ(Names(Sample().stack), "leaf<fa<main");
  InFb();
  python_.PutFrame(third, top_, inner, 1);
  python_.PutFrame(fourth, third, other, 1);
  python_.SetCurrent(fourth);
  ASSERT_EQ(Names(Sample().stack), "other<inner<fb<main");
  VerifiedStack sample;
  for (int i = 0; i < 9; ++i) {
    InFa();  // all but the leaf are of the call that came next
    python_.PutFrame(third, top_, leaf, 1);
    python_.PutFrame(fourth, third, other, 1);
    python_.SetCurrent(fourth);
    const CollectStatus collected = stack_.Collect(python_, Nanos());
    python_.on_read = [&](FakePython&) { InFb(); };
    sample = verifier_.Verify(Tid(), collected, stack_, chain_);
    python_.on_read = nullptr;
  }
  EXPECT_EQ(Names(sample.stack), "other<inner<fb<main");
  EXPECT_EQ(sample.quality, SampleQuality::kVerified);
}

TEST_F(ChainVerifierTest, ACallIsLearntWhateverTheCalleeDoesMeanwhile) {
  Sample();
  const RemoteAddr third = python_.Allocate(64);
  const auto in_fb = [&](RemoteAddr callee) {
    InFb();
    python_.PutFrame(third, top_, callee, 1);
    python_.SetCurrent(third);
  };
  in_fb(fa_);
  size_t reads = 0;
  python_.on_read = [&](FakePython&) { in_fb(++reads % 2 == 0 ? fa_ : main_); };
  const VerifiedStack sample = Sample();
  python_.on_read = nullptr;
  EXPECT_EQ(Names(sample.stack), "[truncated]<fb<main") << "main calls fb; what fb calls did not last";
}

TEST_F(ChainVerifierTest, WhatAForkedProcessIsKnownToDoItsParentMayDo) {
  SharedLinks shared;
  StackLinker here(codes_, stacks_, false, &shared);
  stack_.Collect(python_, Nanos());
  here.Learn(stack_.frames(), false);
  CodeCache other_codes(python_, python_.layout, python_.code_type);
  StackLinker there(other_codes, stacks_, false, &shared);
  there.ReadCodes(stack_.frames());
  EXPECT_EQ(there.Follow(stack_.frames(), false, &chain_).end, LinkEnd::kLinked);
  EXPECT_EQ(Names(there.stack(chain_.leaf())), "fa<main");

  python_.FillCode(fa_, "another");  // at the same address
  CodeCache stranger_codes(python_, python_.layout, python_.code_type);
  StackLinker stranger(stranger_codes, stacks_, false, &shared);
  stranger.ReadCodes(stack_.frames());
  LinkedChain chain;
  EXPECT_EQ(stranger.Follow(stack_.frames(), false, &chain).end, LinkEnd::kUnknownLink);
}

TEST_F(ChainVerifierTest, ASeriesIsSeveralMomentsInOneRead) {
  Sample();
  const std::vector<RawFrame> before = stack_.frames();
  const size_t batches = python_.batches;
  InFb();
  ThreadStack::Series series;
  const size_t moments = stack_.ReadSeries(python_, 12345, &series);
  EXPECT_EQ(python_.batches, batches + 1);
  EXPECT_EQ(stack_.frames(), before) << "it stays what it is until one of them is taken";
  ASSERT_GT(moments, 1u);
  for (size_t i = 0; i < moments; ++i) {
    ASSERT_EQ(stack_.Take(series[i], python_), CollectStatus::kWhole);
    EXPECT_EQ(stack_.frames().front().code, fb_.value) << i;
  }
}

// Who takes what the next look shows, when that is another call, gives its time to those who stand still longest.
TEST_F(ChainVerifierTest, ACallThatCameLaterIsNotTakenForTheOneInDoubt) {
  Sample();
  InFb();
  Sample();
  python_.PutFrame(bottom_, RemoteAddr(), main_, 5);  // fa's call …
  python_.PutFrame(top_, bottom_, main_, 1);          // … of something unknown
  const CollectStatus collected = stack_.Collect(python_, Nanos());
  python_.on_read = [&](FakePython&) { InFb(); };
  const VerifiedStack sample = verifier_.Verify(Tid(), collected, stack_, chain_);
  EXPECT_EQ(Names(sample.stack), "[truncated]<main");
  EXPECT_EQ(sample.quality, SampleQuality::kTruncated);
}

TEST_F(ChainVerifierTest, WhatCannotBeSettledIsCutAndMarked) {
  InFa();
  size_t reads = 0;
  python_.on_read = [&](FakePython&) { python_.PutFrame(top_, bottom_, ++reads % 2 == 0 ? fa_ : fb_, 1); };
  const VerifiedStack sample = Sample();
  EXPECT_EQ(sample.quality, SampleQuality::kTruncated);
  EXPECT_EQ(Names(sample.stack).substr(0, 11), "[truncated]");
}

TEST_F(ChainVerifierTest, WhatWasCutIsWholeOnceItsLinkIsKnown) {
  Sample();
  InFb();
  Sample();
  const auto in_main_again = [&] {
    python_.PutFrame(bottom_, RemoteAddr(), main_, 5);
    python_.PutFrame(top_, bottom_, main_, 1);
  };
  in_main_again();
  const CollectStatus collected = stack_.Collect(python_, Nanos());
  python_.on_read = [&](FakePython&) { InFb(); };
  const VerifiedStack cut = verifier_.Verify(Tid(), collected, stack_, chain_);
  python_.on_read = nullptr;
  ASSERT_EQ(cut.quality, SampleQuality::kTruncated);
  ASSERT_NE(cut.doubtful, kNotDoubtful);
  EXPECT_FALSE(verifier_.doubtful().Resolve(cut.doubtful, linker_).has_value());
  in_main_again();
  Sample();  // stands still: learnt
  const std::optional<NodeId> leaf = verifier_.doubtful().Resolve(cut.doubtful, linker_);
  ASSERT_TRUE(leaf.has_value());
  EXPECT_EQ(Names(linker_.stack(*leaf)), "main<main");
}

TEST_F(ChainVerifierTest, AnEmptyStackIsNotAnError) {
  python_.SetCurrent(RemoteAddr());
  const VerifiedStack sample = Sample();
  EXPECT_TRUE(sample.readable);
  EXPECT_EQ(sample.quality, SampleQuality::kVerified);
  EXPECT_EQ(sample.stack, kEmptyStack);
}

TEST_F(ChainVerifierTest, ACycleOfFramesIsNotADeepStack) {
  python_.PutFrame(bottom_, top_, main_, 5);
  EXPECT_EQ(stack_.Collect(python_, Nanos()), CollectStatus::kBroken);
  EXPECT_EQ(Sample().quality, SampleQuality::kTruncated);
}

TEST_F(ChainVerifierTest, WhatIsDeeperThanTheLimitIsMarked) {
  ThreadStack stack(python_.layout, python_.state, python_.interpreter, 100);
  RemoteAddr previous = bottom_;
  for (int i = 0; i < 150; ++i) {
    const RemoteAddr frame = python_.Allocate(64);
    python_.PutFrame(frame, previous, fa_, 1);
    previous = frame;
  }
  python_.SetCurrent(previous);
  const CollectStatus collected = stack.Collect(python_, Nanos());
  EXPECT_EQ(collected, CollectStatus::kTooDeep);
  LinkedChain chain;
  const VerifiedStack sample = verifier_.Verify(Tid(), collected, stack, chain);
  EXPECT_EQ(sample.quality, SampleQuality::kTooDeep);
  EXPECT_EQ(stacks_.depth(sample.stack), 101u) << "100 frames below a [truncated] root";
}

TEST_F(ChainVerifierTest, GarbageInsteadOfAFrameIsCut) {
  for (const uint64_t bad : {uint64_t{1}, uint64_t{0xFFFF'FFFF'FFFF'FFF8}, uint64_t{8}, uint64_t{0x7000'0000'0000}}) {
    python_.SetCurrent(RemoteAddr(bad));
    EXPECT_EQ(Sample().quality, SampleQuality::kTruncated) << bad;
  }
}

TEST_F(ChainVerifierTest, ShimsArePassedOver) {
  const RemoteAddr shim = python_.Allocate(64);
  python_.PutFrame(shim, bottom_, RemoteAddr(3), 0, 3);
  python_.PutFrame(top_, shim, fa_, 1);
  EXPECT_EQ(Names(Sample().stack), "fa<main");
}

// The call from C has returned, and its C stack is another function's; the frame of the callee is still there.
TEST_F(ChainVerifierTest, AShimThatWasWrittenOverIsStillNoFrame) {
  const RemoteAddr shim = python_.Allocate(64);
  const RemoteAddr elsewhere = python_.Allocate(64);
  const RemoteAddr no_code = python_.Allocate(64);
  python_.PutFrame(shim, bottom_, RemoteAddr(3), 0, 3);
  python_.PutFrame(top_, shim, fa_, 1);
  EXPECT_EQ(Names(Sample().stack), "fa<main");
  Sample();  // with a plan that has the shim in it
  const size_t before = python_.batches;
  python_.PutFrame(shim, bottom_, no_code, 0);
  const VerifiedStack sample = Sample();
  EXPECT_EQ(Names(sample.stack), "fa<main");
  EXPECT_EQ(sample.quality, SampleQuality::kVerified);
  EXPECT_EQ(python_.batches, before + 1) << "nothing more is read for it";
  python_.PutFrame(shim, RemoteAddr(), no_code, 0);
  EXPECT_EQ(Sample().quality, SampleQuality::kTruncated) << "who called is not known";
  python_.PutFrame(shim, bottom_, no_code, 0);
  python_.PutFrame(bottom_, RemoteAddr(), fa_, 1);
  EXPECT_EQ(Sample().quality, SampleQuality::kTruncated) << "the two halves may be of different moments";
  python_.PutFrame(bottom_, RemoteAddr(), main_, 5);
  python_.PutFrame(elsewhere, bottom_, no_code, 0);
  python_.PutFrame(top_, elsewhere, fa_, 1);
  EXPECT_EQ(Sample().quality, SampleQuality::kTruncated) << "where no shim was, a frame may be missing";
}

TEST_F(ChainVerifierTest, AThreadStateOfAnotherInterpreterIsNotRead) {
  python_.Put(python_.state + 8, uint64_t{0x12340});
  EXPECT_FALSE(Sample().readable);
}

TEST_F(ChainVerifierTest, AReusedCodeObjectGetsItsNewName) {
  Sample();
  std::vector<CodeId> stale;
  const std::vector<CodeId> used = {codes_.Find(fa_.value), codes_.Find(main_.value)};
  ASSERT_EQ(codes_.Revalidate(used, &stale), ReadStatus::kOk);
  EXPECT_TRUE(stale.empty());
  python_.FillCode(fa_, "reborn");
  ASSERT_EQ(codes_.Revalidate(used, &stale), ReadStatus::kOk);
  ASSERT_EQ(stale.size(), 1u);
  EXPECT_EQ(stale[0], used[0]);
  chain_.Clear();
  EXPECT_EQ(Names(Sample().stack), "reborn<main");
}

}  // namespace
}  // namespace ptrace_prof
