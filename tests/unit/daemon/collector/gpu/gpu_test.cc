// The parts between CUPTI's records, as bytes, and their join: decoder, calls, launches, names.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/collector/gpu/gpu_calls.h"
#include "daemon/collector/gpu/gpu_decoder.h"
#include "daemon/collector/gpu/gpu_detail.h"
#include "daemon/collector/gpu/gpu_launches.h"
#include "daemon/collector/gpu/gpu_names.h"
#include "daemon/collector/gpu/gpu_operation_name.h"
#include "daemon/collector/target/stack_history.h"
#include "tests/unit/daemon/collector/gpu/gpu_joined.h"

namespace ptrace_prof {
namespace {

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

// Legacy interfaces, and memory calls other than cudaMalloc, have only a name.
TEST(GpuCalls, WhatLaunchesCopiesOrWaitsIsRecorded) {
  constexpr uint32_t kLastOfCuda3 = 117;
  const GpuWantedCalls wanted(GpuDetail::kFull);
  size_t count = 0;
  for (const GpuCallRow& row : GpuCallRows()) {
    const bool is_legacy =
        row.api == GpuApi::kDriver
            ? row.number <= kLastOfCuda3 && row.number != 17
            : row.name.starts_with("cudaLaunch_") || row.name == "cudaLaunch" || row.name == "cudaThreadSynchronize";
    if (!is_legacy && row.kind != GpuCallKind::kMemory && row.kind != GpuCallKind::kOther) {
      GpuRecord record;
      record.kind = row.api == GpuApi::kRuntime ? GpuRecordKind::kRuntime : GpuRecordKind::kDriver;
      record.value = row.number;
      EXPECT_TRUE(wanted.Has(record)) << row.name;
      ++count;
    }
  }
  EXPECT_GT(count, 150);
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
  EXPECT_EQ(launches.Widen(0), 0) << "there is none";
  EXPECT_EQ(launches.Widen(0xfffffff6), 0xfffffff6) << "and nothing has wrapped by that";
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

TEST(GpuNames, ANameIsReadOnceAndLookedAtAgain) {
  NoMemory memory;
  const std::string longer = std::string(300, 'k') + "_kernel";
  memory.bytes.replace(4000, longer.size(), longer);  // across a page boundary
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

}  // namespace
}  // namespace ptrace_prof
