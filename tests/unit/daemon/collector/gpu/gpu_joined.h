// Records of CUPTI as bytes, and a join of them whose result is read back from the trace.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/collector/gpu/gpu_clock.h"
#include "daemon/collector/gpu/gpu_decoder.h"
#include "daemon/collector/gpu/gpu_joiner.h"
#include "daemon/collector/gpu/gpu_names.h"
#include "daemon/trace/read/trace_reader.h"
#include "daemon/trace/write/memory_sink.h"

namespace ptrace_prof {

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
  // Makes it a kernel of this graph; 0: of none.
  Bytes& Of(uint32_t graph) {
    Put(156, graph);
    return *this;
  }
  std::span<const uint8_t> span() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

inline constexpr size_t kKernelSize = 216;
inline constexpr size_t kCallSize = 40;

inline std::array<uint16_t, kGpuRecordKinds> Strides() {
  std::array<uint16_t, kGpuRecordKinds> strides{};
  strides[5] = strides[4] = kCallSize;
  strides[10] = kKernelSize;
  strides[1] = 96;
  strides[8] = 184;
  strides[2] = 88;
  strides[51] = 56;
  strides[52] = 72;
  strides[40] = 136;  // a kind that we do not read
  return strides;
}

inline Bytes Kernel(uint64_t start, uint64_t end, uint32_t correlation, uint64_t name = 0) {
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

inline Bytes Call(uint32_t kind, uint32_t number, uint64_t start, uint64_t end, uint32_t correlation,
                  uint32_t result = 0) {
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
inline Bytes Timeless(uint32_t kind) {
  Bytes record;
  record.Put(0, kind);
  return record;
}
inline Bytes Launch(uint64_t start, uint32_t correlation) { return Call(5, 211, start, start + 10, correlation); }

inline std::vector<GpuRecord> Decode(GpuDecoder& decoder, std::span<const uint8_t> bytes) {
  std::vector<GpuRecord> records;
  decoder.Decode(bytes, [&](const GpuRecord& record) { records.push_back(record); });
  return records;
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

// One thread, whose stack at every time is what the test sets.
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
  void OnGpuDevice(const GpuDevice& device) override { devices.push_back(device); }
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
  std::vector<GpuDevice> devices;
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
  static CaptureTask Request() {
    CaptureTask request;
    SetTarget(Pid(7), &request);
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

}  // namespace ptrace_prof
