// GPU operations and calls through TraceWriter and back out of TraceReader, and as protobuf itself reads them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/trace/recorder.h"

namespace ptrace_prof {
namespace {

struct SeenOperation {
  GpuQueueId queue;
  GpuOperation operation;
  std::string name;
  std::vector<Frame> frames;
};

class GpuLog : public Recorder {
 public:
  void OnGpuDevice(const GpuDevice& device) override { devices.push_back(device); }
  void OnGpuQueue(GpuQueueId id, const GpuQueue& queue) override { queues[id] = queue; }
  void OnGpuOperation(GpuQueueId queue, const GpuOperation& operation) override {
    operations.push_back({queue, operation, std::string(operation.name), FramesOf(reader->stacks(), operation.stack)});
  }
  void OnGpuApiCall(TrackId track, const GpuApiCall& call) override {
    calls.emplace_back(threads[track].infos.back().tid.value, call);
  }
  void OnGpuAccounting(const GpuAccounting& totals) override { gpu_accountings.push_back(totals); }

  std::vector<GpuDevice> devices;
  std::map<GpuQueueId, GpuQueue> queues;
  std::vector<SeenOperation> operations;
  std::vector<std::pair<int, GpuApiCall>> calls;
  std::vector<GpuAccounting> gpu_accountings;
};

struct GpuReadBack {
  explicit GpuReadBack(std::string_view bytes) : reader(log) {
    log.reader = &reader;
    EXPECT_TRUE(reader.Feed(std::as_bytes(std::span(bytes))).has_value());
  }
  GpuLog log;
  TraceReader reader;
};

struct Recorded {
  Recorded() : writer(sink, stacks, RequestFor(10), FixedOrigin()) {
    ProcessInfo process;
    process.pid = Pid(10);
    writer.AddProcess(process);
    ThreadInfo info;
    info.pid = Pid(10);
    info.tid = Tid(11);
    info.name = "main";
    thread = writer.AddThread(info);
    queue = writer.AddGpuQueue({.pid = Pid(10), .device = 0, .context = 1, .stream = 7, .priority = -2});
  }
  StackId Stack(std::initializer_list<const char*> functions) {
    StackId stack = kEmptyStack;
    for (const char* function : functions) {
      Frame frame;
      frame.function = function;
      frame.file = "/srv/train.py";
      frame.line = frame.first_line = 12;
      stack = stacks.InternStack(stack, stacks.InternFrame(frame));
    }
    return stack;
  }
  GpuOperation Kernel(int64_t begin, int64_t end, const char* name = "gemm") {
    GpuOperation operation;
    operation.begin = Nanos(kTraceStart + begin);
    operation.end = Nanos(kTraceStart + end);
    operation.name = name;
    operation.shape.grid = {8, 4, 1};
    operation.shape.block = {128, 1, 1};
    return operation;
  }
  std::string Finish() {
    EXPECT_TRUE(writer.End(Nanos(kTraceStart + 1'000'000), Accounting{}, EndInfo{}).has_value());
    return sink.bytes();
  }

  MemorySink sink;
  StackTable stacks;
  TraceWriter writer;
  ThreadHandle thread;
  GpuQueueHandle queue;
};

GpuOperation FullKernel(Recorded& recorded) {
  GpuOperation kernel = recorded.Kernel(100, 350);
  kernel.correlation = 0x1'0000'0007;
  kernel.shape.registers_per_thread = 32;
  kernel.shape.static_shared_memory = 1024;
  kernel.shape.dynamic_shared_memory = 49152;
  kernel.graph = 3;
  kernel.graph_node = 0xffff'0000'0001;
  kernel.channel = 9;
  kernel.launched_by = Tid(11);
  kernel.launched = Nanos(kTraceStart + 40);
  kernel.stack = recorded.Stack({"main", "train"});
  kernel.stack_source = GpuStackSource::kExact;
  return kernel;
}

TEST(TraceGpu, EveryFieldOfAKernelComesBack) {
  Recorded recorded;
  const GpuOperation kernel = FullKernel(recorded);
  recorded.writer.AddGpuOperation(recorded.queue, kernel);
  const GpuReadBack read(recorded.Finish());
  EXPECT_EQ(read.reader.skipped(), 0);
  const GpuQueue& queue = read.log.queues.begin()->second;
  EXPECT_EQ(std::tuple(queue.pid.value, queue.device, queue.context, queue.stream, queue.priority),
            std::tuple(10, 0, 1, 7, -2));
  ASSERT_EQ(read.log.operations.size(), 1);
  const SeenOperation& seen = read.log.operations[0];
  EXPECT_EQ(seen.name, "gemm");
  EXPECT_EQ(seen.operation.begin.value, kernel.begin.value);
  EXPECT_EQ(seen.operation.end.value, kernel.end.value);
  EXPECT_EQ(seen.operation.correlation, kernel.correlation);
  EXPECT_EQ(seen.operation.shape, kernel.shape);
  EXPECT_EQ(seen.operation.graph, 3);
  EXPECT_EQ(seen.operation.graph_node, kernel.graph_node);
  EXPECT_EQ(seen.operation.channel, 9);
  EXPECT_EQ(seen.operation.launched_by.value, 11);
  EXPECT_EQ(seen.operation.launched.value, kernel.launched.value);
  EXPECT_EQ(seen.operation.stack_source, GpuStackSource::kExact);
  ASSERT_EQ(seen.frames.size(), 2);
  EXPECT_EQ(seen.frames[1].function, "train");
  EXPECT_EQ(seen.frames[1].line, 12);
}

TEST(TraceGpu, CopiesAndWaitsComeBack) {
  Recorded recorded;
  GpuOperation copy = recorded.Kernel(400, 500, "Memcpy HtoD (Pinned -> Device)");
  copy.kind = GpuOperationKind::kMemcpy;
  copy.shape = {};
  copy.bytes = uint64_t{5} << 32;
  copy.copy_kind = GpuCopyKind::kHtoD;
  copy.source = GpuMemory::kPinned;
  copy.target = GpuMemory::kDevice;
  recorded.writer.AddGpuOperation(recorded.queue, copy);
  GpuOperation wait = recorded.Kernel(50, 600, "Stream Sync");
  wait.kind = GpuOperationKind::kSync;
  wait.shape = {};
  wait.sync = GpuSync::kStream;
  wait.event = 4;
  wait.stack = recorded.Stack({"main"});
  wait.stack_source = GpuStackSource::kBackward;
  recorded.writer.AddGpuOperation(recorded.queue, wait);

  const GpuReadBack read(recorded.Finish());
  EXPECT_EQ(read.reader.skipped(), 0);
  EXPECT_EQ(read.log.queues.size(), 1) << "waits are of the same queue";
  ASSERT_EQ(read.log.operations.size(), 2);
  const GpuOperation& back = read.log.operations[0].operation;
  EXPECT_EQ(back.kind, GpuOperationKind::kMemcpy);
  EXPECT_EQ(back.bytes, copy.bytes);
  EXPECT_EQ(std::tuple(back.copy_kind, back.source, back.target),
            std::tuple(GpuCopyKind::kHtoD, GpuMemory::kPinned, GpuMemory::kDevice));
  EXPECT_EQ(back.launched.value, 0);
  EXPECT_EQ(back.stack_source, GpuStackSource::kNone);
  const GpuOperation& waited = read.log.operations[1].operation;
  EXPECT_EQ(std::tuple(waited.kind, waited.sync, waited.event, waited.stack_source),
            std::tuple(GpuOperationKind::kSync, GpuSync::kStream, 4u, GpuStackSource::kBackward));
}

TEST(TraceGpu, CallsBelongToTheirThread) {
  Recorded recorded;
  GpuApiCall call;
  call.api = GpuApi::kDriver;
  call.begin = Nanos(kTraceStart + 10);
  call.end = Nanos(kTraceStart + 25);
  call.name = "cuLaunchKernel";
  call.function = 307;
  call.correlation = 99;
  call.result = 719;
  call.launches = true;
  call.stack = recorded.Stack({"main"});
  call.stack_source = GpuStackSource::kSampled;
  recorded.writer.AddGpuApiCall(recorded.thread, call);
  const GpuReadBack read(recorded.Finish());
  EXPECT_EQ(read.reader.skipped(), 0);
  ASSERT_EQ(read.log.calls.size(), 1);
  const auto& [tid, back] = read.log.calls[0];
  EXPECT_EQ(tid, 11);
  EXPECT_EQ(back.name, "cuLaunchKernel");
  EXPECT_EQ(std::tuple(back.api, back.begin.value, back.end.value, back.function, back.correlation, back.result),
            std::tuple(GpuApi::kDriver, call.begin.value, call.end.value, 307u, 99u, 719u));
  EXPECT_TRUE(back.launches);
  EXPECT_EQ(back.stack_source, GpuStackSource::kSampled);
  EXPECT_EQ(FramesOf(read.reader.stacks(), back.stack).size(), 1);
}

// Two sequences describe the thread for a while, and the older one does so once more before it ends.
TEST(TraceGpu, CallsOfAThreadThatWasLostFromSightForAMoment) {
  Recorded recorded;
  ThreadInfo info;
  info.pid = Pid(10);
  info.tid = Tid(11);
  const ThreadHandle again = recorded.writer.AddThread(info);
  EXPECT_TRUE(recorded.writer.Flush().has_value());
  recorded.writer.RenameThread(recorded.thread, "worker");
  recorded.writer.EndThread(recorded.thread, Nanos(kTraceStart + 5));
  GpuApiCall call;
  call.name = "cudaLaunchKernel";
  call.begin = call.end = Nanos(kTraceStart + 10);
  recorded.writer.AddGpuApiCall(again, call);
  const GpuReadBack read(recorded.Finish());
  EXPECT_EQ(read.reader.skipped(), 0);
  ASSERT_EQ(read.log.calls.size(), 1);
  EXPECT_EQ(read.log.calls[0].first, 11);
}

TEST(TraceGpu, DevicesAndTotalsComeBack) {
  Recorded recorded;
  GpuDevice device;
  device.pid = Pid(10);
  device.id = 1;
  device.name = "NVIDIA H200";
  device.uuid = "GPU-1";
  device.memory_bytes = uint64_t{141} << 30;
  device.compute_major = 9;
  device.warp_size = 32;
  recorded.writer.AddGpuDevice(device);
  GpuAccounting totals;
  totals.pid = Pid(10);
  totals.state = GpuCaptureState::kNoKernels;
  totals.message = "no kernel was seen";
  totals.cupti_version = 130001;
  totals.launches = 12;
  totals.kernels = 10;
  totals.dropped = 2;
  totals.attributed_backward = 3;
  totals.attributed_exact = 4;
  totals.attributed_launch = 5;
  totals.stacks_refused = 6;
  totals.stacks_lost = 8;
  recorded.writer.AddGpuAccounting(totals);
  const GpuReadBack read(recorded.Finish());
  ASSERT_EQ(read.log.devices.size(), 1);
  EXPECT_EQ(read.log.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(read.log.devices[0].memory_bytes, device.memory_bytes);
  EXPECT_EQ(read.log.devices[0].warp_size, 32);
  ASSERT_EQ(read.log.gpu_accountings.size(), 1);
  const GpuAccounting& back = read.log.gpu_accountings[0];
  EXPECT_EQ(back.state, GpuCaptureState::kNoKernels);
  EXPECT_EQ(back.message, totals.message);
  EXPECT_EQ(std::tuple(back.cupti_version, back.launches, back.kernels, back.dropped, back.attributed()),
            std::tuple(130001u, 12u, 10u, 2u, 12u));
  EXPECT_EQ(std::tuple(back.attributed_launch, back.stacks_refused, back.stacks_lost), std::tuple(5u, 6u, 8u));
}

// Perfetto's view: slices must nest on every track, in whatever order records came.
TEST(TraceGpu, SlicesOfATrackNeverOverlap) {
  Recorded recorded;
  const std::pair<int64_t, int64_t> times[] = {{0, 10}, {10, 20}, {15, 30}, {5, 8}, {20, 20}, {30, 31}, {12, 50}};
  for (const auto& [begin, end] : times) {
    recorded.writer.AddGpuOperation(recorded.queue, recorded.Kernel(begin, end));
  }
  perfetto::protos::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(recorded.Finish()));
  std::map<uint64_t, std::vector<std::pair<uint64_t, uint64_t>>> tracks;
  std::set<uint64_t> described;
  uint64_t default_track = 0;
  uint64_t sequence = 0;
  uint64_t begin = 0;
  for (const auto& packet : trace.packet()) {
    if (packet.has_track_descriptor()) {
      described.insert(packet.track_descriptor().uuid());
    }
    if (packet.GetExtension(trace::ptrace_prof).has_gpu_track()) {
      default_track = packet.trace_packet_defaults().track_event_defaults().track_uuid();
      sequence = packet.trusted_packet_sequence_id();
    }
    if (!packet.has_track_event() || packet.trusted_packet_sequence_id() != sequence) {
      continue;
    }
    const uint64_t track = packet.track_event().has_track_uuid() ? packet.track_event().track_uuid() : default_track;
    EXPECT_TRUE(described.contains(track));
    if (packet.track_event().type() == perfetto::protos::TrackEvent::TYPE_SLICE_BEGIN) {
      begin = packet.timestamp();
    } else {
      tracks[track].emplace_back(begin, packet.timestamp());
    }
  }
  size_t slices = 0;
  for (const auto& [track, spans] : tracks) {
    for (size_t i = 1; i < spans.size(); ++i) {
      EXPECT_GE(spans[i].first, spans[i - 1].second);
    }
    slices += spans.size();
  }
  EXPECT_EQ(slices, std::size(times));
  EXPECT_GT(tracks.size(), 1);
}

TEST(TraceGpu, ALaunchAndItsOperationsShareAFlow) {
  Recorded recorded;
  GpuApiCall call;
  call.name = "cudaLaunchKernel";
  call.begin = call.end = Nanos(kTraceStart);
  call.correlation = 5;
  call.launches = true;
  recorded.writer.AddGpuApiCall(recorded.thread, call);
  call.launches = false;  // a driver's call within it
  recorded.writer.AddGpuApiCall(recorded.thread, call);
  GpuOperation kernel = recorded.Kernel(1, 2);
  kernel.correlation = 5;
  recorded.writer.AddGpuOperation(recorded.queue, kernel);
  perfetto::protos::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(recorded.Finish()));
  std::vector<uint64_t> flows;
  for (const auto& packet : trace.packet()) {
    for (const uint64_t flow : packet.track_event().flow_ids()) {
      flows.push_back(flow);
    }
  }
  ASSERT_EQ(flows.size(), 2);
  EXPECT_EQ(flows[0], flows[1]);
}

TEST(TraceGpu, GoesOnAfterTheStacksWereForgotten) {
  Recorded recorded;
  GpuOperation kernel = recorded.Kernel(1, 2);
  kernel.stack = recorded.Stack({"before"});
  recorded.writer.AddGpuOperation(recorded.queue, kernel);
  ASSERT_TRUE(recorded.writer.Flush().has_value());
  recorded.stacks.Clear();
  kernel = recorded.Kernel(3, 4, "other");
  kernel.stack = recorded.Stack({"after"});
  recorded.writer.AddGpuOperation(recorded.queue, kernel);
  const GpuReadBack read(recorded.Finish());
  EXPECT_EQ(read.reader.skipped(), 0);
  ASSERT_EQ(read.log.operations.size(), 2);
  EXPECT_EQ(read.log.operations[0].frames.at(0).function, "before");
  EXPECT_EQ(read.log.operations[1].frames.at(0).function, "after");
  EXPECT_EQ(read.log.operations[1].name, "other");
  EXPECT_EQ(read.log.operations[0].operation.shape, read.log.operations[1].operation.shape);
  EXPECT_EQ(read.log.queues.size(), 1);
}

TEST(TraceGpu, EveryPrefixIsATrace) {
  Recorded recorded;
  for (int i = 0; i < 20; ++i) {
    GpuOperation kernel = recorded.Kernel(i * 10, i * 10 + 5);
    kernel.stack = recorded.Stack({"main"});
    recorded.writer.AddGpuOperation(recorded.queue, kernel);
  }
  const std::string bytes = recorded.Finish();
  size_t last = 0;
  for (size_t size = 2000; size < bytes.size(); size += 37) {  // from after the header
    const GpuReadBack read(std::string_view(bytes).substr(0, size));
    EXPECT_GE(read.log.operations.size(), last);
    last = read.log.operations.size();
  }
  EXPECT_LE(last, 20);
}

}  // namespace
}  // namespace ptrace_prof
