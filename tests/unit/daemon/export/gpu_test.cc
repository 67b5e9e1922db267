// GPU time: how it is split, which facts are reported about it, and that memory does not grow with time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "daemon/export/gpu_facts.h"
#include "daemon/export/gpu_idle.h"
#include "daemon/export/gpu_lanes.h"
#include "tests/unit/daemon/export/exporting.h"
#include "tests/unit/daemon/export/sample_trace.h"

namespace ptrace_prof {
namespace {

GpuOperation Kernel(int64_t begin_us, int64_t end_us, int64_t launched_us) {
  GpuOperation operation;
  operation.begin = Nanos(begin_us * 1000);
  operation.end = Nanos(end_us * 1000);
  operation.launched = Nanos(launched_us * 1000);
  operation.name = "kernel";
  return operation;
}

GpuOperation Other(GpuOperationKind kind, int64_t begin_us, int64_t end_us, GpuSync sync = GpuSync::kUnknown) {
  GpuOperation operation = Kernel(begin_us, end_us, begin_us);
  operation.kind = kind;
  operation.sync = sync;
  return operation;
}

GpuTime TimeOf(const std::vector<GpuOperation>& operations) {
  GpuIdle forward;
  GpuIdle backward;
  for (size_t i = 0; i < operations.size(); ++i) {
    forward.Add(operations[i]);
    backward.Add(operations[operations.size() - 1 - i]);
  }
  const GpuTime time = forward.Result();
  const GpuTime again = backward.Result();  // the order does not matter
  EXPECT_EQ(time.all, again.all);
  EXPECT_EQ(time.launch, again.launch);
  EXPECT_EQ(time.all, time.kernels + time.copying + time.launch + time.sync + time.nothing);
  return time;
}

constexpr Nanos Us(int64_t us) { return Nanos(us * 1000); }

TEST(GpuIdleTest, KernelsOfSeveralStreamsAreBusyOnce) {
  const GpuTime time = TimeOf({Kernel(0, 100, 0), Kernel(50, 150, 0), Kernel(150, 200, 0)});
  EXPECT_EQ(time.kernels, Us(200));
  EXPECT_EQ(time.idle(), Us(0));
}

TEST(GpuIdleTest, LaunchedButNotBegun) {
  const GpuTime time = TimeOf({Kernel(0, 100, 0), Kernel(9000, 9100, 8990)});
  EXPECT_EQ(time.launch, Us(10));
  EXPECT_EQ(time.nothing, Us(8890));
}

TEST(GpuIdleTest, LaunchesThatFollowEachOtherTooSlowly) {
  const GpuTime time = TimeOf({Kernel(10, 20, 5), Kernel(60, 70, 50), Kernel(110, 120, 100)});
  EXPECT_EQ(time.kernels, Us(30));
  EXPECT_EQ(time.launch, Us(80));
}

TEST(GpuIdleTest, TheHostHadWaited) {
  const GpuTime time = TimeOf(
      {Kernel(0, 1000, 0), Other(GpuOperationKind::kSync, 10, 1010, GpuSync::kStream), Kernel(1200, 1300, 1190)});
  EXPECT_EQ(time.sync, Us(190));
  EXPECT_EQ(time.launch, Us(10));
  const GpuTime late = TimeOf(
      {Kernel(0, 1000, 0), Other(GpuOperationKind::kSync, 10, 1010, GpuSync::kContext), Kernel(9000, 9100, 8990)});
  EXPECT_EQ(late.sync, Us(10));
  EXPECT_EQ(late.nothing, Us(7980));
  const GpuTime queue_waits =
      TimeOf({Kernel(0, 1000, 0), Other(GpuOperationKind::kSync, 10, 1010, GpuSync::kStreamWaitEvent),
              Kernel(9000, 9100, 8990)});
  EXPECT_EQ(queue_waits.sync, Us(0));
}

TEST(GpuIdleTest, CopiesBetweenKernels) {
  const GpuTime time = TimeOf(
      {Other(GpuOperationKind::kMemcpy, 0, 300), Kernel(200, 400, 100), Other(GpuOperationKind::kMemset, 450, 500)});
  EXPECT_EQ(time.all, Us(500));
  EXPECT_EQ(time.copying, Us(250));
  EXPECT_EQ(time.kernels, Us(200));
}

TEST(GpuIdleTest, MillionsOfGapsAreBounded) {
  BusyIntervals busy;
  const int64_t count = 3 * static_cast<int64_t>(BusyIntervals::kMost);
  for (int64_t i = 0; i < count; ++i) {
    busy.Add({i * 200, i * 200 + 100, 0, 0});
  }
  EXPECT_LE(busy.Sorted().size(), BusyIntervals::kMost);
  EXPECT_EQ(busy.Sorted().back().end, (count - 1) * 200 + 100);
}

TEST(GpuLanesTest, MillionsOfOperationsAreBoundedAndNoneIsLost) {
  GpuLanes lanes;
  const int64_t count = 5 * static_cast<int64_t>(GpuLanes::kMostPieces);
  for (int64_t i = 0; i < count; ++i) {
    lanes.Add(GpuQueueId(3), Kernel(10 * i, 10 * i + 4, 0));
  }
  ASSERT_EQ(lanes.Sorted().size(), 1);
  const auto& pieces = lanes.Sorted()[0].pieces;
  EXPECT_LE(pieces.size(), GpuLanes::kMostPieces);
  int64_t operations = 0;
  Nanos busy;
  for (const GpuLanes::Piece& piece : pieces) {
    operations += static_cast<int64_t>(piece.count);
    busy = busy + piece.busy;
  }
  EXPECT_EQ(operations, count);
  EXPECT_EQ(busy, Us(4 * count));
}

std::string Report(GpuReport report) {
  ExportOptions options;
  options.report = report;
  const Exported exported = Export(GpuTrace(), ExportFormat::kText, options);
  EXPECT_TRUE(exported.result.has_value());
  return exported.bytes;
}

// A page reports all missing GPU work in its own words.
TEST(GpuFactsTest, EveryLossIsACaution) {
  constexpr uint64_t GpuAccounting::*kLosses[] = {
      &GpuAccounting::dropped,
      &GpuAccounting::declined_buffers,
      &GpuAccounting::unknown_records,
      &GpuAccounting::invalid,
      &GpuAccounting::invalid_records,
      &GpuAccounting::unseen,
      &GpuAccounting::replays_unseen,
      &GpuAccounting::graphs_before,
      &GpuAccounting::without_launch,
      &GpuAccounting::unlinked,
      &GpuAccounting::ambiguous,
      &GpuAccounting::graphs_without_launch,
      &GpuAccounting::copies_without_launch,
      &GpuAccounting::memsets_without_launch,
      &GpuAccounting::annotations_without_begin,
      &GpuAccounting::annotations_without_end,
      &GpuAccounting::annotations_lost,
  };
  for (const auto loss : kLosses) {
    Recording recording;
    recording.gpu_accounting[{1, Pid(7)}].*loss = 1234;
    std::vector<std::string> cautions;
    AddGpuCautions(recording, cautions);
    ASSERT_EQ(cautions.size(), 1);
    EXPECT_NE(cautions[0].find("1,234 "), std::string::npos) << cautions[0];
  }
}

TEST(GpuReportTest, EachReportsOfItsOwn) {
  const std::string kernels = Report(GpuReport::kKernels);
  EXPECT_NE(kernels.find("gemm_kernel<float>"), std::string::npos) << kernels;
  EXPECT_NE(kernels.find("idle: nothing queued"), std::string::npos);
  EXPECT_EQ(kernels.find("Trainer.step"), std::string::npos);
  const std::string stacks = Report(GpuReport::kStacks);
  EXPECT_NE(stacks.find("Trainer.step (/srv/job/train.py:28);nn.Module: Linear_0 (layers.3)"), std::string::npos)
      << stacks;
  EXPECT_NE(stacks.find("[no Python stack]"), std::string::npos);
  const std::string ranges = Report(GpuReport::kRanges);
  EXPECT_NE(ranges.find("        3.980          1    3980.000    3980.000  model <1>: forward"), std::string::npos)
      << ranges;
  EXPECT_EQ(ranges.find("gemm"), std::string::npos);
  EXPECT_NE(Report(GpuReport::kModules).find("nn.Module: Linear_0 (layers.3)"), std::string::npos);
}

TEST(GpuReportTest, GoesWithTextOnly) {
  ExportOptions options;
  options.report = GpuReport::kKernels;
  const Exported exported = Export(GpuTrace(), ExportFormat::kHtml, options);
  ASSERT_TRUE(exported.result.has_error());
  EXPECT_EQ(exported.result.error().code, Code::kInvalidArgument);
  EXPECT_TRUE(ParseGpuReport("kernel").has_error());
}

TEST(GpuReportTest, WithoutAGpuItSaysSo) {
  ExportOptions options;
  options.report = GpuReport::kKernels;
  const Exported exported = Export(SampleTrace(), ExportFormat::kText, options);
  EXPECT_NE(exported.bytes.find("No kernel, copy or memset"), std::string::npos);
}

}  // namespace
}  // namespace ptrace_prof
