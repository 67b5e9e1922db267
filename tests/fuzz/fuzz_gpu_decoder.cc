// Any bytes as buffers of a GPU's records, with any strides: reads stay within them, and what comes out of the join and
// the trace is bounded and consistent.
//
// The first byte chooses the strides (as a library has them, or from the bytes), and the number of settles.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "daemon/collector/gpu/gpu_annotations.h"
#include "daemon/collector/gpu/gpu_decoder.h"
#include "daemon/collector/gpu/gpu_joiner.h"
#include "daemon/trace/read/trace_reader.h"
#include "daemon/trace/write/memory_sink.h"
#include "tests/fuzz/fake_memory.h"

namespace ptrace_prof {
namespace {

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

class OneThread : public GpuCallSites {
 public:
  explicit OneThread(ThreadHandle thread) : thread_(thread) {}
  ThreadHandle ThreadOf(uint32_t) override { return thread_; }
  GpuCallSite Of(const GpuCallPlace&) override { return {.thread = thread_, .tid = Tid(7)}; }

 private:
  const ThreadHandle thread_;
};

class Checking : public TraceVisitor {
 public:
  void OnGpuOperation(GpuQueueId, const GpuOperation& operation) override {
    ++operations;
    Require(operation.begin <= operation.end);
  }
  void OnGpuAnnotation(TrackId, const GpuAnnotation& annotation) override {
    ++annotations;
    Require(annotation.begin <= annotation.end);
  }
  size_t operations = 0;
  size_t annotations = 0;
};

std::array<uint16_t, kGpuRecordKinds> Strides(const uint8_t* data, size_t size, bool real) {
  std::array<uint16_t, kGpuRecordKinds> strides{};
  if (real) {
    strides[1] = strides[22] = 96;
    strides[2] = 88;
    strides[4] = strides[5] = 40;
    strides[8] = 184;
    strides[9] = 32;
    strides[10] = 216;
    strides[12] = strides[17] = strides[38] = strides[51] = 56;
    strides[37] = 24;
    return strides;
  }
  for (size_t i = 0; i < strides.size() && i + 1 < size; ++i) {
    strides[i] = static_cast<uint16_t>(data[i] << 8 | data[i + 1]);
  }
  return strides;
}

}  // namespace
}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptrace_prof;
  if (size < 1) {
    return 0;
  }
  GpuDecoder decoder(Strides(data + 1, size - 1, (data[0] & 1) == 0));
  FakeMemory memory;
  for (size_t i = 1; i < size; ++i) {
    memory.Put(FakeMemory::kBase + i - 1, data[i]);
  }
  MemorySink sink;
  StackTable stacks;
  CaptureTask request;
  SetTarget(Pid(7), &request);
  TraceWriter writer(sink, stacks, request);
  writer.AddProcess({.pid = Pid(7)});
  OneThread sites(writer.AddThread({.pid = Pid(7), .tid = Tid(7)}));
  GpuNames names(memory);
  GpuClock clock;
  clock.AddPair(Nanos(data[0]), Nanos(1000), Nanos(50));
  GpuAnnotations annotations(writer, names, clock, sites);
  GpuJoiner joiner(Pid(7), writer, stacks, names, clock, sites);
  size_t records = 0;
  const size_t pieces = 1 + data[0] / 64;
  for (size_t piece = 0; piece < pieces; ++piece) {
    const size_t begin = 1 + (size - 1) * piece / pieces;
    const size_t end = 1 + (size - 1) * (piece + 1) / pieces;
    decoder.Decode({data + begin, end - begin}, [&](const GpuRecord& record) {
      ++records;
      if (record.kind == GpuRecordKind::kMarker) {
        annotations.Take(record);
      } else {
        joiner.Take(record);
      }
    });
    joiner.Settle(Nanos(static_cast<int64_t>(piece) * 1'000'000'000), Nanos(INT64_MAX));
    annotations.Settle();
  }
  annotations.Finish(Nanos(INT64_MAX / 2), 0);
  joiner.Finish(Nanos(INT64_MAX / 2));
  Require(records <= decoder.records() && decoder.records() <= size / 4);
  Require(writer.End(Nanos(1), Accounting{}, EndInfo{}).has_value());
  Checking checking;
  TraceReader reader(checking);
  Require(reader.Feed(std::as_bytes(std::span(sink.bytes()))).has_value());
  Require(checking.operations + checking.annotations <= records);
  return 0;
}
