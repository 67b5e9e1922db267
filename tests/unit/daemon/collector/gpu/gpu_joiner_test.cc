// The join: from CUPTI's records, as bytes, to the operations in a trace.
#include <string>
#include <vector>

#include "tests/unit/daemon/collector/gpu/gpu_joined.h"

namespace ptrace_prof {
namespace {

TEST(GpuJoiner, AKernelGetsTheStackOfItsLaunchWhicheverComesFirst) {
  Joined joined;
  Bytes kernels;
  kernels.Append(Kernel(joined.At(500), joined.At(600), 1), kKernelSize);
  joined.Take(kernels);
  joined.Settle(0.1);
  Bytes launches;
  launches.Append(Launch(joined.At(100), 1), 0).Append(Launch(joined.At(200), 2), 0);
  joined.Take(launches);
  joined.Settle(0.2);
  Bytes later;
  later.Append(Kernel(joined.At(700), joined.At(800), 2), kKernelSize);
  joined.Take(later);
  joined.Settle(0.3);
  const Seen seen = joined.Finish();
  ASSERT_EQ(seen.operations.size(), 2);
  EXPECT_EQ(seen.stacks, (std::vector<std::string>{"train", "train"}));
  EXPECT_EQ(seen.operations[0].launched.value, joined.base.value + 100);
  EXPECT_EQ(seen.operations[0].launched_by, Tid(11));
  ASSERT_EQ(seen.calls.size(), 2);
  EXPECT_TRUE(seen.calls[0].launches);
  EXPECT_EQ(joined.counts.launches, 2);
  EXPECT_EQ(joined.counts.kernels, 2);
  EXPECT_EQ(joined.counts.unseen, 0);
  EXPECT_EQ(joined.counts.attributed_exact, 2);
}

TEST(GpuJoiner, ACallIsAskedForByTheCorrelationOfItsRecordAndASourceIsCounted) {
  Joined joined;
  joined.sites.site.source = GpuStackSource::kLaunch;
  Bytes bytes;
  bytes.Append(Launch(joined.At(100), 0xffffffff), 0)
      .Append(Launch(joined.At(200), 3), 0)
      .Append(Kernel(joined.At(300), joined.At(400), 3), kKernelSize);
  joined.Take(bytes);
  const Seen seen = joined.Finish();
  EXPECT_EQ(joined.sites.correlations, (std::vector<uint32_t>{0xffffffff, 3}));
  ASSERT_EQ(seen.operations.size(), 1);
  EXPECT_EQ(seen.operations[0].correlation, (uint64_t{1} << 32) + 3);
  EXPECT_EQ(seen.operations[0].stack_source, GpuStackSource::kLaunch);
  EXPECT_EQ(seen.calls[1].stack_source, GpuStackSource::kLaunch);
  EXPECT_EQ(joined.counts.attributed_launch, 1);
  EXPECT_EQ(joined.counts.attributed(), 1);
}

// It waits as long as it is unknown where its thread was.
TEST(GpuJoiner, AKernelWaitsForALaunchThatIsNotSettledYet) {
  Joined joined;
  Bytes bytes;
  bytes.Append(Launch(joined.At(100), 1), 0).Append(Kernel(joined.At(300), joined.At(400), 1), kKernelSize);
  joined.Take(bytes);
  for (double seconds = 0; seconds < 5; seconds += 0.5) {
    joined.Settle(seconds, joined.base + Nanos(50));
  }
  joined.Settle(6, joined.base + Nanos(1000));
  const Seen seen = joined.Finish();
  ASSERT_EQ(seen.operations.size(), 1);
  EXPECT_EQ(seen.operations[0].stack_source, GpuStackSource::kExact);
  EXPECT_EQ(joined.counts.without_launch + joined.counts.unseen, 0);
}

TEST(GpuJoiner, WhatDoesNotAddUpIsCounted) {
  Joined joined;
  Bytes bytes;
  bytes.Append(Launch(joined.At(100), 1), 0)
      .Append(Kernel(joined.At(50), joined.At(60), 1), kKernelSize)  // before its launch
      .Append(Launch(joined.At(200), 2), 0)                          // without a kernel
      .Append(Launch(joined.At(300), 3), 0)
      .Append(Kernel(0, 0, 3), kKernelSize)                             // times that mean nothing
      .Append(Kernel(joined.At(400), joined.At(500), 77), kKernelSize)  // without a call
      .Append(Call(5, 211, joined.At(600), joined.At(610), 4, 719), 0)  // failed
      .Append(Call(5, 211, joined.At(700), joined.At(690), 5), 0)       // ended before it began
      .Append(Kernel(joined.At(710), joined.At(720), 5), kKernelSize)
      .Append(Kernel(0, 0, 6), kKernelSize)  // without a call too
      .Append(Timeless(1), 96)               // a copy that had not ended at the final flush
      .Append(Call(5, 311, joined.At(800), joined.At(810), 7), 0)
      .Append(Kernel(0, 0, 7), kKernelSize)  // a node of a graph
      .Append(Kernel(joined.At(820), joined.At(830), 7), kKernelSize);
  joined.Take(bytes);
  joined.Settle(0.1);
  const Seen seen = joined.Finish();
  EXPECT_EQ(seen.operations.size(), 4);
  EXPECT_EQ(joined.counts.launches, 5);
  EXPECT_EQ(joined.counts.kernels, 4);
  EXPECT_EQ(joined.counts.invalid, 2);
  EXPECT_EQ(joined.counts.invalid_records, 3);
  EXPECT_EQ(joined.counts.unseen, 1);
  EXPECT_EQ(joined.counts.without_launch, 2);
  EXPECT_EQ(joined.counts.clock_violations, 1);
  EXPECT_EQ(joined.counts.early_median_ns, 50);
  EXPECT_EQ(joined.counts.early_most_ns, 50);
  // Every launch must be in one of the counts.
  EXPECT_EQ(joined.counts.kernels - joined.counts.without_launch + joined.counts.invalid + joined.counts.unseen,
            joined.counts.launches);
}

Bytes Device(uint32_t number, bool is_slice, uint8_t slice_uuid) {
  Bytes record;
  record.Put(0, uint32_t{8});
  record.Put(32, uint32_t{32});
  record.Put(52, uint32_t{48});
  record.Put(112, number);
  record.Put(120, uint8_t{0xab});
  record.Put(145, static_cast<uint8_t>(is_slice ? 1 : 0));
  record.Put(152, uint32_t{3});
  record.Put(156, uint32_t{1});
  record.Put(160, slice_uuid);
  record.Put(183, uint8_t{0});
  return record;
}

TEST(GpuJoiner, SlicesOfAGpuAreDevicesOfTheirOwn) {
  Joined joined;
  Bytes bytes;
  bytes.Append(Device(0, false, 7), 0).Append(Device(1, true, 0xcd), 0).Append(Device(2, true, 0), 0);
  joined.Take(bytes);
  const Seen seen = joined.Finish();
  ASSERT_EQ(seen.devices.size(), 3);
  EXPECT_EQ(seen.devices[0].uuid, "GPU-ab000000-0000-0000-0000-000000000000");
  EXPECT_EQ(seen.devices[1].uuid, "MIG-cd000000-0000-0000-0000-000000000000");
  EXPECT_EQ(seen.devices[2].uuid, "MIG-GPU-ab000000-0000-0000-0000-000000000000/3/1");
  EXPECT_EQ(seen.devices[0].max_threads_per_multiprocessor, 1536);
}

TEST(GpuJoiner, TheDriversCallWithinTheRuntimesIsNoLaunchOfItsOwn) {
  Joined joined;
  Bytes bytes;
  bytes.Append(Call(4, 307, joined.At(110), joined.At(150), 5), 0)
      .Append(Call(5, 211, joined.At(100), joined.At(200), 5), 0)
      .Append(Kernel(joined.At(300), joined.At(400), 5), kKernelSize);
  joined.Take(bytes);
  const Seen seen = joined.Finish();
  ASSERT_EQ(seen.calls.size(), 2);
  EXPECT_EQ(seen.names[0], "cudaLaunchKernel");
  EXPECT_TRUE(seen.calls[0].launches);
  EXPECT_EQ(seen.names[1], "cuLaunchKernel");
  EXPECT_FALSE(seen.calls[1].launches);
  EXPECT_EQ(joined.counts.launches, 1);
}

TEST(GpuJoiner, WhatElseHasNoLaunchIsCountedToo) {
  Joined joined;
  Bytes copy;
  copy.Put(0, uint32_t{1});
  copy.Put(16, joined.At(100));
  copy.Put(24, joined.At(110));
  copy.Put(44, uint32_t{9});
  Bytes set = copy;
  set.Put(0, uint32_t{2});
  Bytes whole;
  whole.Put(0, uint32_t{51});
  whole.Put(4, uint32_t{9});
  whole.Put(8, joined.At(200));
  whole.Put(16, joined.At(210));
  Bytes bytes;
  bytes.Append(copy, 96).Append(set, 88).Append(whole, 56);
  joined.Take(bytes);
  EXPECT_EQ(joined.Finish().operations.size(), 3);
  EXPECT_EQ(joined.counts.copies_without_launch, 1);
  EXPECT_EQ(joined.counts.memsets_without_launch, 1);
  EXPECT_EQ(joined.counts.graphs_without_launch, 1);
  EXPECT_EQ(joined.counts.without_launch, 0);
}

TEST(GpuJoiner, TheNodesOfAGraphAreOfItsLaunch) {
  Joined joined;
  Bytes bytes;
  bytes.Append(Call(5, 311, joined.At(100), joined.At(200), 6), 0)
      .Append(Kernel(joined.At(300), joined.At(400), 6), kKernelSize)
      .Append(Kernel(joined.At(400), joined.At(500), 6), kKernelSize);
  joined.Take(bytes);
  const Seen seen = joined.Finish();
  EXPECT_EQ(seen.stacks, (std::vector<std::string>{"train", "train"}));
  EXPECT_EQ(joined.counts.launches, 2);
  EXPECT_EQ(joined.counts.unseen, 0);
}

TEST(GpuJoiner, WhereGraphsAreReportedWronglyTheirOperationsHaveNoLaunch) {
  Joined joined;
  joined.joiner.DistrustGraphs();
  Bytes bytes;
  bytes.Append(Launch(joined.At(100), 1), 0)
      .Append(Kernel(joined.At(110), joined.At(120), 1).Of(0), kKernelSize)
      .Append(Call(5, 311, joined.At(200), joined.At(210), 2), 0)
      .Append(Kernel(joined.At(220), joined.At(230), 1), kKernelSize)   // of the graph, by its number
      .Append(Kernel(joined.At(240), joined.At(250), 77), kKernelSize)  // the same
      .Append(Kernel(0, 0, 1), kKernelSize);
  joined.Take(bytes);
  const Seen seen = joined.Finish();
  EXPECT_EQ(seen.stacks, (std::vector<std::string>{"train", "", ""}));
  EXPECT_EQ(seen.operations[1].launched_by, Tid());
  EXPECT_EQ(seen.operations[1].correlation, 0);
  EXPECT_EQ(joined.counts.unlinked, 2);
  EXPECT_EQ(joined.counts.kernels, 3);
  EXPECT_EQ(joined.counts.launches, 3);
  EXPECT_EQ(joined.counts.invalid_records, 1);
  EXPECT_EQ(joined.counts.without_launch + joined.counts.unseen + joined.counts.replays_unseen, 0);
}

TEST(GpuJoiner, WhatIsCapturedIsNoLaunchAndAReplayWithoutNodesIsCounted) {
  Joined joined;
  Bytes bytes;
  bytes
      .Append(Call(5, 315, joined.At(100), joined.At(110), 1), 0)  // a capture begins
      .Append(Launch(joined.At(200), 2), 0)
      .Append(Launch(joined.At(210), 3), 0)
      .Append(Kernel(joined.At(250), joined.At(260), 3), kKernelSize)  // in another stream
      .Append(Call(5, 319, joined.At(300), joined.At(310), 4), 0)      // the capture ends
      .Append(Call(5, 311, joined.At(400), joined.At(410), 5), 0)
      .Append(Call(5, 311, joined.At(500), joined.At(510), 6), 0)
      .Append(Kernel(joined.At(600), joined.At(610), 6), kKernelSize);
  joined.Take(bytes);
  joined.Settle(0.1);
  (void)joined.Finish();
  EXPECT_EQ(joined.counts.captured, 1);
  EXPECT_EQ(joined.counts.unseen, 0);
  EXPECT_EQ(joined.counts.replays_unseen, 1);
  EXPECT_EQ(joined.counts.launches, 2);
  EXPECT_EQ(joined.counts.kernels, 2);
  EXPECT_EQ(joined.counts.graphs_before, 1) << "nobody instantiated it";
}

TEST(GpuJoiner, ACaptureThatHadBegunBeforeIsGuessedByKernelsThatDoNotCome) {
  Joined joined;
  Bytes bytes;
  bytes.Append(Launch(joined.At(100), 1), 0)
      .Append(Kernel(joined.At(300), joined.At(400), 1), kKernelSize)
      .Append(Launch(joined.At(500), 2), 0);
  joined.Take(bytes);
  joined.Settle(0.1);
  EXPECT_FALSE(joined.joiner.MayBeCapturing(joined.base + Nanos::FromMillis(500))) << "it may yet come";
  EXPECT_TRUE(joined.joiner.MayBeCapturing(joined.base + Nanos::FromSeconds(2)));
  EXPECT_FALSE(joined.joiner.MayBeCapturing(joined.base + Nanos::FromSeconds(90))) << "no capture takes so long";
  Bytes end;
  end.Append(Call(5, 319, joined.At(600), joined.At(610), 3), 0);
  joined.Take(end);
  joined.Settle(0.2);
  EXPECT_FALSE(joined.joiner.MayBeCapturing(joined.base + Nanos::FromSeconds(2)));
}

TEST(GpuJoiner, WhereNoKernelCameAtAllACaptureMayBeGoingOn) {
  Joined joined;
  joined.joiner.Begin(joined.base);
  Bytes bytes;
  bytes.Append(Launch(joined.At(100), 1), 0);
  joined.Take(bytes);
  joined.Settle(0.1);
  EXPECT_FALSE(joined.joiner.MayBeCapturing(joined.base + Nanos::FromMillis(300))) << "it may yet come";
  EXPECT_TRUE(joined.joiner.MayBeCapturing(joined.base + Nanos::FromMillis(500)));
}

TEST(GpuJoiner, WhereLaterKernelsCameACaptureMayBeGoingOnHoweverShortTheRecording) {
  constexpr int64_t kLater = 300'000'000;
  Joined joined;
  joined.joiner.Begin(joined.base);
  Bytes bytes;
  bytes.Append(Launch(joined.At(100), 1), 0)
      .Append(Launch(joined.At(kLater), 2), 0)
      .Append(Kernel(joined.At(kLater + 10), joined.At(kLater + 20), 2), kKernelSize);
  joined.Take(bytes);
  joined.Settle(0.5);
  EXPECT_TRUE(joined.joiner.MayBeCapturing(joined.base + Nanos::FromMillis(600)));
}

TEST(GpuJoiner, AGpuThatIsFarBehindIsNoCapture) {
  Joined joined;
  joined.joiner.Begin(joined.base);
  Bytes bytes;
  bytes.Append(Launch(joined.At(100), 1), 0)
      .Append(Launch(joined.At(200'000'000), 2), 0)
      .Append(Launch(joined.At(300'000'000), 3), 0)
      .Append(Kernel(joined.At(550'000'000), joined.At(560'000'000), 1), kKernelSize);
  joined.Take(bytes);
  joined.Settle(0.6);
  EXPECT_FALSE(joined.joiner.MayBeCapturing(joined.base + Nanos::FromMillis(600)));
}

TEST(GpuJoiner, WhatWasLaunchedBeforeAllWasSwitchedOnOwesNoKernel) {
  Joined joined;
  joined.joiner.Begin(joined.base + Nanos(250));
  Bytes bytes;
  bytes.Append(Launch(joined.At(100), 1), 0)
      .Append(Launch(joined.At(200), 2), 0)
      .Append(Kernel(joined.At(210), joined.At(220), 2), kKernelSize)
      .Append(Call(5, 311, joined.At(230), joined.At(240), 3), 0)
      .Append(Launch(joined.At(300), 4), 0);
  joined.Take(bytes);
  (void)joined.Finish();
  EXPECT_EQ(joined.counts.unseen, 1);
  EXPECT_EQ(joined.counts.replays_unseen, 0);
  EXPECT_EQ(joined.counts.launches, 2);
  EXPECT_EQ(joined.counts.kernels, 1);
}

TEST(GpuJoiner, WhatIsLaunchedWhileTheShimLeavesIsNotOfTheRecording) {
  Joined joined;
  joined.joiner.Close(joined.base + Nanos(250));
  Bytes bytes;
  bytes.Append(Launch(joined.At(100), 1), 0)
      .Append(Kernel(joined.At(300), joined.At(310), 1), kKernelSize)
      .Append(Kernel(joined.At(400), joined.At(410), 0), kKernelSize);  // its call no longer had a number
  joined.Take(bytes);
  joined.Settle(0.1);
  (void)joined.Finish();
  EXPECT_EQ(joined.counts.kernels, 1);
  EXPECT_EQ(joined.counts.without_launch, 0);
}

TEST(GpuJoiner, CallsWaitUntilItIsKnownWhereTheirThreadWas) {
  Joined joined;
  Bytes bytes;
  bytes.Append(Launch(joined.At(100), 1), 0).Append(Kernel(joined.At(300), joined.At(400), 1), kKernelSize);
  joined.Take(bytes);
  joined.Settle(0.1, joined.base + Nanos(50));
  EXPECT_TRUE(joined.sites.asked.empty());
  joined.Settle(0.2, joined.base + Nanos(1000));
  EXPECT_EQ(joined.sites.asked, (std::vector<uint32_t>{11}));
  EXPECT_EQ(joined.Finish().stacks, (std::vector<std::string>{"train"}));
}

}  // namespace
}  // namespace ptrace_prof
