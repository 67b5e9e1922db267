// Measures the cost of a CUPTI record from the buffer to the stream: the launches and kernels of an eager job (one call
// and one kernel each) through GpuDecoder, GpuJoiner and TraceWriter.
//
// `Decode` is the first of these alone. One core; the bytes are in the cache, as they are after a buffer was taken.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/collector/gpu/gpu_decoder.h"
#include "daemon/collector/gpu/gpu_joiner.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {
namespace {

constexpr size_t kKernelBytes = 216;
constexpr size_t kCallBytes = 40;
constexpr int kLaunches = 4000;  // in a buffer of 1 MiB
constexpr int kNames = 200;

class CountingSink : public ByteSink {
 public:
  Result<void> Write(std::span<const std::byte> bytes) override {
    total += bytes.size();
    return {};
  }
  uint64_t total = 0;
};

class Names : public RemoteMemory {
 public:
  ReadStatus Read(RemoteAddr from, void* to, size_t size) override {
    const std::string name = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, " +
                             std::to_string(from.value / 4096) + ")";
    std::memset(to, 0, size);
    const size_t at = from.value % 4096;
    if (at < name.size()) {
      std::memcpy(to, name.data() + at, std::min(size, name.size() - at));
    }
    return ReadStatus::kOk;
  }
  ReadStatus ReadBatch(std::span<const ReadRequest>, size_t*) override { return ReadStatus::kFault; }
};

class Sites : public GpuCallSites {
 public:
  ThreadHandle ThreadOf(uint32_t) override { return thread_; }
  Sites(ThreadHandle thread, StackTable& stacks) : thread_(thread) {
    for (int i = 0; i < 100; ++i) {
      Frame frame;
      frame.function = "layer" + std::to_string(i);
      frame.file = "/srv/model.py";
      stacks_.push_back(stacks.InternStack(kEmptyStack, stacks.InternFrame(frame)));
    }
  }
  GpuCallSite Of(const GpuCallPlace&) override {
    return {
        .thread = thread_, .tid = Tid(7), .stack = stacks_[next_++ % stacks_.size()], .source = GpuStackSource::kExact};
  }

 private:
  const ThreadHandle thread_;
  std::vector<StackId> stacks_;
  size_t next_ = 0;
};

std::array<uint16_t, kGpuRecordKinds> Strides() {
  std::array<uint16_t, kGpuRecordKinds> strides{};
  strides[5] = kCallBytes;
  strides[10] = kKernelBytes;
  return strides;
}

// One buffer; `first` (launch) and the time continue from buffer to buffer.
class Buffer {
 public:
  Buffer() : bytes_(kLaunches * (kKernelBytes + kCallBytes)) {}

  std::span<const uint8_t> Next() {
    uint8_t* at = bytes_.data();
    for (int i = 0; i < kLaunches; ++i) {
      ++correlation_;
      const uint64_t launch = static_cast<uint64_t>(correlation_) * 5000;
      Put(at, 0, uint32_t{5});
      Put(at, 4, uint32_t{211});
      Put(at, 8, launch);
      Put(at, 16, launch + 4000);
      Put(at, 28, uint32_t{7});
      Put(at, 32, correlation_);
      at += kCallBytes;
      Put(at, 0, uint32_t{10});
      Put(at, 16, launch + 6000);
      Put(at, 24, launch + 9000);
      Put(at, 44, uint32_t{1});
      Put(at, 48, uint32_t{7});
      Put(at, 52, 1 + correlation_ % 32);
      Put(at, 64, uint32_t{256});
      Put(at, 92, correlation_);
      Put(at, 104, (1 + uint64_t{correlation_} % kNames) * 4096);
      at += kKernelBytes;
    }
    return bytes_;
  }
  Nanos now() const { return Nanos(static_cast<int64_t>(correlation_) * 5000 + 10'000); }

 private:
  template <typename Number>
  static void Put(uint8_t* record, size_t at, Number number) {
    std::memcpy(record + at, &number, sizeof number);
  }
  std::vector<uint8_t> bytes_;
  uint32_t correlation_ = 0;
};

void Decode(benchmark::State& state) {
  Buffer buffer;
  GpuDecoder decoder(Strides());
  const auto bytes = buffer.Next();
  uint64_t sum = 0;
  for (auto _ : state) {
    decoder.Decode(bytes, [&](const GpuRecord& record) { sum += record.correlation; });
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(static_cast<int64_t>(decoder.records()));
}
BENCHMARK(Decode);

void DecodeJoinEncode(benchmark::State& state) {
  CountingSink sink;
  StackTable stacks;
  CaptureTask request;
  SetTarget(Pid(7), &request);
  TraceWriter writer(sink, stacks, request);
  writer.AddProcess({.pid = Pid(7)});
  Sites sites(writer.AddThread({.pid = Pid(7), .tid = Tid(7)}), stacks);
  Names memory;
  GpuNames names(memory);
  GpuClock clock;
  clock.SetIdentity();
  GpuJoiner joiner(Pid(7), writer, stacks, names, clock, sites);
  GpuDecoder decoder(Strides());
  Buffer buffer;
  for (auto _ : state) {
    state.PauseTiming();
    const auto bytes = buffer.Next();
    state.ResumeTiming();
    names.NewRound();
    decoder.Decode(bytes, [&](const GpuRecord& record) { joiner.Take(record); });
    joiner.Settle(buffer.now(), buffer.now());
    benchmark::DoNotOptimize(writer.Flush());
  }
  state.SetItemsProcessed(static_cast<int64_t>(decoder.records()));
  state.counters["bytes_per_record"] = static_cast<double>(sink.total) / static_cast<double>(decoder.records());
}
BENCHMARK(DecodeJoinEncode);

}  // namespace
}  // namespace ptrace_prof

BENCHMARK_MAIN();
