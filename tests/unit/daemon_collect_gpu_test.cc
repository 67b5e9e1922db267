// From CUPTI's records, as bytes, to what stands in a trace: decoder, join.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/collect/gpu_calls.h"
#include "daemon/collect/gpu_clock.h"
#include "daemon/collect/gpu_decoder.h"
#include "daemon/collect/gpu_detail.h"
#include "daemon/collect/gpu_joiner.h"
#include "daemon/collect/gpu_launches.h"
#include "daemon/collect/gpu_names.h"
#include "daemon/collect/gpu_operation_name.h"
#include "daemon/collect/stack_history.h"
#include "daemon/trace/memory_sink.h"
#include "daemon/trace/trace_reader.h"

namespace ptrace_prof {
namespace {

class Bytes {
 public:
  template <typename Number>
  void Put(size_t at, Number number) {
    if (bytes_.size() < at + sizeof number) {
      bytes_.resize(at + sizeof number);
    }
    std::memcpy(bytes_.data() + at, &number, sizeof number);
  }
  Bytes& Append(const Bytes& other, size_t size) {
    const size_t at = bytes_.size();
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
    bytes_.resize(std::max(bytes_.size(), at + size));
    return *this;
  }
  std::span<const uint8_t> span() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

constexpr size_t kKernelSize = 216;
constexpr size_t kCallSize = 40;

std::array<uint16_t, kGpuRecordKinds> Strides() {
  std::array<uint16_t, kGpuRecordKinds> strides{};
  strides[5] = strides[4] = kCallSize;
  strides[10] = kKernelSize;
  strides[1] = 96;
  strides[52] = 72;
  strides[40] = 136;  // which we do not read
  return strides;
}

Bytes Kernel(uint64_t start, uint64_t end, uint32_t correlation, uint64_t name = 0) {
  Bytes record;
  record.Put(0, uint32_t{10});
  record.Put(6, uint16_t{40});
  record.Put(16, start);
  record.Put(24, end);
  record.Put(40, uint32_t{0});
  record.Put(44, uint32_t{1});
  record.Put(48, uint32_t{7});
  record.Put(52, uint32_t{8});
  record.Put(64, uint32_t{128});
  record.Put(92, correlation);
  record.Put(104, name);
  record.Put(144, uint64_t{0x200000003});
  record.Put(156, uint32_t{2});
  return record;
}

Bytes Call(uint32_t kind, uint32_t number, uint64_t start, uint64_t end, uint32_t correlation, uint32_t result = 0) {
  Bytes record;
  record.Put(0, kind);
  record.Put(4, number);
  record.Put(8, start);
  record.Put(16, end);
  record.Put(28, uint32_t{11});
  record.Put(32, correlation);
  record.Put(36, result);
  return record;
}
Bytes Timeless(uint32_t kind) {
  Bytes record;
  record.Put(0, kind);
  return record;
}
Bytes Launch(uint64_t start, uint32_t correlation) { return Call(5, 211, start, start + 10, correlation); }

std::vector<GpuRecord> Decode(GpuDecoder& decoder, std::span<const uint8_t> bytes) {
  std::vector<GpuRecord> records;
  decoder.Decode(bytes, [&](const GpuRecord& record) { records.push_back(record); });
  return records;
}

TEST(GpuDecoder, ReadsTheFieldsOfAKernel) {
  GpuDecoder decoder(Strides());
  Bytes bytes;
  bytes.Append(Kernel(100, 200, 9, 0x1234), kKernelSize).Append(Kernel(300, 400, 10), kKernelSize);
  const auto records = Decode(decoder, bytes.span());
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].kind, GpuRecordKind::kKernel);
  EXPECT_EQ(records[0].start, 100);
  EXPECT_EQ(records[0].end, 200);
  EXPECT_EQ(records[0].correlation, 9);
  EXPECT_EQ(records[0].name, 0x1234);
  EXPECT_EQ(records[0].grid[0], 8);
  EXPECT_EQ(records[0].block[0], 128);
  EXPECT_EQ(records[0].registers, 40);
  EXPECT_EQ(records[0].stream, 7);
  EXPECT_EQ(records[0].graph, 2);
  EXPECT_EQ(records[0].graph_node, 0x200000003);
  EXPECT_EQ(records[1].start, 300);
}

TEST(GpuDecoder, AnOlderShorterRecordLacksItsLastFields) {
  std::array<uint16_t, kGpuRecordKinds> strides{};
  strides[10] = 144;
  GpuDecoder decoder(strides);
  Bytes bytes;
  bytes.Append(Kernel(100, 200, 9), 0);
  const auto records = Decode(decoder, bytes.span().first(144));
  ASSERT_EQ(records.size(), 1);
  EXPECT_EQ(records[0].end, 200);
  EXPECT_EQ(records[0].graph_node, 0);
}

TEST(GpuDecoder, PassesOverWhatItDoesNotKnowAndEndsAtWhatCannotBe) {
  GpuDecoder decoder(Strides());
  Bytes unread;
  unread.Put(0, uint32_t{40});
  unread.Put(132, uint32_t{0});
  Bytes unknown;
  unknown.Put(0, uint32_t{63});
  Bytes bytes;
  bytes.Append(unread, 0).Append(Launch(1, 2), 0).Append(unknown, 100).Append(Launch(3, 4), 0);
  EXPECT_EQ(Decode(decoder, bytes.span()).size(), 1);
  EXPECT_EQ(decoder.unknown(), 2);
  // A record that does not fit, and one that was never written.
  Bytes cut;
  cut.Append(Launch(1, 2), 0);
  EXPECT_EQ(Decode(decoder, cut.span().first(39)).size(), 0);
  Bytes zeros;
  zeros.Append(Launch(1, 2), 400);
  EXPECT_EQ(Decode(decoder, zeros.span()).size(), 1);
}

TEST(GpuDecoder, ACompilationIsNamed) {
  GpuDecoder decoder(Strides());
  Bytes bytes;
  bytes.Put(0, uint32_t{52});
  bytes.Put(4, uint32_t{1});
  bytes.Put(8, uint32_t{3});
  bytes.Put(16, uint64_t{100});
  bytes.Put(24, uint64_t{200});
  bytes.Put(32, uint32_t{9});
  bytes.Put(68, uint32_t{0});
  auto records = Decode(decoder, bytes.span());
  ASSERT_EQ(records.size(), 1);
  EXPECT_EQ(records[0].start, 100);
  EXPECT_EQ(records[0].end, 200);
  EXPECT_EQ(records[0].correlation, 9);
  EXPECT_EQ(GpuOperationName(records[0]), "JIT PTX to cubin (compile)");
  records[0].value = records[0].copy_kind = 77;
  EXPECT_EQ(GpuOperationName(records[0]), "JIT");
}

TEST(GpuCalls, OnlyWhatWasAskedForIsTaken) {
  GpuRecord record;
  record.kind = GpuRecordKind::kRuntime;
  for (const auto& [call, coarse, usual, full] : {std::tuple{211, true, true, true},
                                                  {315, true, true, true},
                                                  {41, false, true, true},
                                                  {135, false, false, true},
                                                  {17, false, false, false},
                                                  {5000, false, false, false}}) {
    record.value = static_cast<uint32_t>(call);
    EXPECT_EQ(GpuWantedCalls(GpuDetail::kCoarse).Has(record), coarse) << call;
    EXPECT_EQ(GpuWantedCalls(GpuDetail::kDefault).Has(record), usual) << call;
    EXPECT_EQ(GpuWantedCalls(GpuDetail::kFull).Has(record), full) << call;
  }
  record.kind = GpuRecordKind::kKernel;
  EXPECT_TRUE(GpuWantedCalls(GpuDetail::kCoarse).Has(record));
}

TEST(GpuCalls, WhatIsRecordedHasAName) {
  for (const GpuDetail detail : {GpuDetail::kCoarse, GpuDetail::kDefault, GpuDetail::kFull}) {
    pp_gpu_boot boot{};
    SetGpuDetail(detail, &boot);
    for (const uint16_t* call = boot.runtime_callbacks; *call != 0; ++call) {
      EXPECT_NE(FindGpuCall(GpuApi::kRuntime, *call), nullptr) << *call;
    }
    for (const uint16_t* call = boot.driver_callbacks; *call != 0; ++call) {
      EXPECT_NE(FindGpuCall(GpuApi::kDriver, *call), nullptr) << *call;
    }
  }
  EXPECT_EQ(FindGpuCall(GpuApi::kRuntime, 211)->name, "cudaLaunchKernel");
  EXPECT_EQ(FindGpuCall(GpuApi::kDriver, UINT32_MAX), nullptr);
}

TEST(GpuLaunches, CorrelationsCountOnWhereTheyWrap) {
  GpuLaunches launches;
  EXPECT_EQ(launches.Widen(0xfffffff0), 0xfffffff0);
  EXPECT_EQ(launches.Widen(5), 0x1'0000'0005);
  EXPECT_EQ(launches.Widen(0xfffffff5), 0xfffffff5);
  EXPECT_EQ(launches.Widen(6), 0x1'0000'0006);
}

TEST(GpuLaunches, ItHoldsTheLastOnesInBoundedMemory) {
  GpuLaunches launches;
  for (uint64_t i = 1; i < 3'000'000; ++i) {
    GpuLaunch launch;
    launch.correlation = i;
    launch.begin = Nanos(static_cast<int64_t>(i));
    launch.is_implied = true;
    launches.Add(launch);
  }
  EXPECT_NE(launches.Find(2'999'999), nullptr);
  EXPECT_NE(launches.Find(2'500'000), nullptr);
  EXPECT_EQ(launches.Find(1), nullptr);
  EXPECT_EQ(launches.CountUnseen().kernels, 2'999'999);
}

TEST(StackHistory, SaysWhereAThreadWas) {
  StackTable stacks;
  Frame frame;
  frame.function = "f";
  const StackId f = stacks.InternStack(kEmptyStack, stacks.InternFrame(frame));
  StackHistory history(stacks);
  const ThreadHandle thread(3);
  history.Note(thread, Nanos(100), f);
  history.Note(thread, Nanos(200), kEmptyStack);
  EXPECT_FALSE(history.At(thread, Nanos(99)).has_value());
  EXPECT_EQ(history.At(thread, Nanos(100)), f);
  EXPECT_EQ(history.At(thread, Nanos(199)), f);
  EXPECT_EQ(history.At(thread, Nanos(1000)), kEmptyStack);
  EXPECT_EQ(history.Nearest(thread, Nanos(140), Nanos(50)), f);
  EXPECT_EQ(history.Nearest(thread, Nanos(160), Nanos(50)), kEmptyStack);
  EXPECT_FALSE(history.Nearest(thread, Nanos(500), Nanos(50)).has_value());
  history.Forget(Nanos(150));
  EXPECT_EQ(history.At(thread, Nanos(160)), f) << "the last one before still holds";
}

class NoMemory : public RemoteMemory {
 public:
  ReadStatus Read(RemoteAddr from, void* to, size_t size) override {
    ++reads;
    if (from.value < base || from.value - base + size > bytes.size()) {
      return ReadStatus::kFault;
    }
    std::memcpy(to, bytes.data() + (from.value - base), size);
    return ReadStatus::kOk;
  }
  ReadStatus ReadBatch(std::span<const ReadRequest>, size_t*) override { return ReadStatus::kFault; }
  uint64_t base = 0x10000;
  std::string bytes = std::string(8192, '\0');
  int reads = 0;
};

TEST(GpuNames, ANameIsReadOnceAndLookedAtAgain) {
  NoMemory memory;
  const std::string longer = std::string(300, 'k') + "_kernel";
  memory.bytes.replace(4000, longer.size(), longer);  // across a page
  GpuNames names(memory);
  const RemoteAddr address(memory.base + 4000);
  EXPECT_EQ(names.Of(address), longer);
  const int reads = memory.reads;
  EXPECT_EQ(names.Of(address), longer);
  EXPECT_EQ(memory.reads, reads);
  memory.bytes.replace(4000, 6, std::string("other\0", 6));
  EXPECT_EQ(names.Of(address), longer) << "once in a round";
  names.NewRound();
  EXPECT_EQ(names.Of(address), "other");
  EXPECT_EQ(names.Of(RemoteAddr(1)), "[name that is gone]");
}

// One thread, whose stack at every time is what the test says.
class Sites : public GpuCallSites {
 public:
  GpuCallSite Of(const GpuCallPlace& call) override {
    asked.push_back(call.thread);
    correlations.push_back(call.correlation);
    return site;
  }
  ThreadHandle ThreadOf(uint32_t thread) override {
    asked.push_back(thread);
    return site.thread;
  }
  GpuCallSite site;
  std::vector<uint32_t> asked;
  std::vector<uint32_t> correlations;
};

struct Seen : TraceVisitor {
  void OnGpuOperation(GpuQueueId, const GpuOperation& operation) override {
    operations.push_back(operation);
    stacks.push_back(
        operation.stack == kEmptyStack ? "" : reader->stacks().frame(reader->stacks().leaf(operation.stack)).function);
  }
  void OnGpuApiCall(TrackId, const GpuApiCall& call) override {
    calls.push_back(call);
    names.emplace_back(call.name);
  }
  const TraceReader* reader = nullptr;
  std::vector<GpuOperation> operations;
  std::vector<std::string> stacks;
  std::vector<GpuApiCall> calls;
  std::vector<std::string> names;  // of the calls
};

struct Joined {
  Joined() : names(memory), joiner(Pid(7), writer, stacks, names, clock, sites) {
    clock.SetIdentity();
    writer.AddProcess({.pid = Pid(7)});
    sites.site.thread = writer.AddThread({.pid = Pid(7), .tid = Tid(11)});
    sites.site.tid = Tid(11);
    Frame frame;
    frame.function = "train";
    sites.site.stack = stacks.InternStack(kEmptyStack, stacks.InternFrame(frame));
    sites.site.source = GpuStackSource::kExact;
  }
  static CaptureRequest Request() {
    CaptureRequest request;
    request.pid = Pid(7);
    return request;
  }
  void Take(const Bytes& bytes) {
    decoder.Decode(bytes.span(), [&](const GpuRecord& record) { joiner.Take(record); });
  }
  void Settle(double seconds, Nanos known_until = Nanos(INT64_MAX)) {
    joiner.Settle(base + Nanos::FromSeconds(seconds), known_until);
  }
  Seen Finish() {
    joiner.Finish(base + Nanos::FromSeconds(60));
    joiner.CountInto(counts);
    EXPECT_TRUE(writer.End(base, Accounting{}, EndInfo{}).has_value());
    Seen seen;
    auto reader = std::make_unique<TraceReader>(seen);
    seen.reader = reader.get();
    EXPECT_TRUE(reader->Feed(std::as_bytes(std::span(sink.bytes()))).has_value());
    EXPECT_EQ(reader->skipped(), 0);
    return seen;
  }
  uint64_t At(int64_t offset) const { return static_cast<uint64_t>(base.value + offset); }

  const Nanos base = MonotonicNow();
  MemorySink sink;
  StackTable stacks;
  TraceWriter writer{sink, stacks, Request()};
  NoMemory memory;
  GpuNames names;
  GpuClock clock;
  Sites sites;
  GpuDecoder decoder{Strides()};
  GpuJoiner joiner;
  GpuAccounting counts;
};

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

// As long as it is not known where its thread was.
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
      .Append(Launch(joined.At(200), 2), 0)                          // of which no kernel comes
      .Append(Launch(joined.At(300), 3), 0)
      .Append(Kernel(0, 0, 3), kKernelSize)                             // whose times mean nothing
      .Append(Kernel(joined.At(400), joined.At(500), 77), kKernelSize)  // of which no call comes
      .Append(Call(5, 211, joined.At(600), joined.At(610), 4, 719), 0)  // which failed
      .Append(Call(5, 211, joined.At(700), joined.At(690), 5), 0)       // that ended before it began
      .Append(Kernel(joined.At(710), joined.At(720), 5), kKernelSize)
      .Append(Kernel(0, 0, 6), kKernelSize)  // of which no call comes either
      .Append(Timeless(1), 96)               // a copy that had not ended when all had to be told
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
  // Every launch is accounted for.
  EXPECT_EQ(joined.counts.kernels - joined.counts.without_launch + joined.counts.invalid + joined.counts.unseen,
            joined.counts.launches);
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

TEST(GpuJoiner, WhatIsCapturedIsNoLaunchAndAReplayWithoutNodesIsCounted) {
  Joined joined;
  Bytes bytes;
  bytes
      .Append(Call(5, 315, joined.At(100), joined.At(110), 1), 0)  // a capture begins
      .Append(Launch(joined.At(200), 2), 0)
      .Append(Launch(joined.At(210), 3), 0)
      .Append(Kernel(joined.At(250), joined.At(260), 3), kKernelSize)  // in another stream
      .Append(Call(5, 319, joined.At(300), joined.At(310), 4), 0)      // and ends
      .Append(Call(5, 311, joined.At(400), joined.At(410), 5), 0)
      .Append(Call(5, 311, joined.At(500), joined.At(510), 6), 0)
      .Append(Kernel(joined.At(600), joined.At(610), 6), kKernelSize);
  joined.Take(bytes);
  joined.Settle(0.1);
  EXPECT_FALSE(joined.joiner.SeesNoKernels(joined.base + Nanos::FromSeconds(3)));
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

TEST(GpuJoiner, OnlyCapturedLaunchesAreNoDeadLibrary) {
  Joined joined;
  Bytes bytes;
  bytes.Append(Call(5, 315, joined.At(100), joined.At(110), 1), 0).Append(Launch(joined.At(200), 2), 0);
  joined.Take(bytes);
  joined.Settle(0.1);
  EXPECT_FALSE(joined.joiner.SeesNoKernels(joined.base + Nanos::FromSeconds(3)));
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
      .Append(Kernel(joined.At(400), joined.At(410), 0), kKernelSize);  // its call had no number any more
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

TEST(GpuJoiner, LaunchesWithoutAnyKernelAreNoticed) {
  Joined joined;
  Bytes bytes;
  bytes.Append(Launch(joined.At(100), 1), 0);
  joined.Take(bytes);
  joined.Settle(0.1);
  EXPECT_FALSE(joined.joiner.SeesNoKernels(joined.base + Nanos::FromSeconds(1)));
  EXPECT_TRUE(joined.joiner.SeesNoKernels(joined.base + Nanos::FromSeconds(3)));
  Bytes kernels;
  kernels.Append(Kernel(joined.At(500), joined.At(600), 1), kKernelSize);
  joined.Take(kernels);
  joined.Settle(0.2);
  EXPECT_FALSE(joined.joiner.SeesNoKernels(joined.base + Nanos::FromSeconds(3)));
}

}  // namespace
}  // namespace ptrace_prof
