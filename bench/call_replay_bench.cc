// Measures the cost of an exact event from a record in a ring to the stream, in time and in bytes: the records of one
// thread through CallReplayer and TraceWriter, and back through TraceReader.
//
// Two programs: `fib` calls itself (three functions in all, an event every 20 ns), `train` resembles a training script
// (900 functions by a power law, generators, exceptions, an event every 400 ns on average).
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "daemon/collector/calls/call_replayer.h"
#include "daemon/collector/calls/trace_call_sink.h"
#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {
namespace {

constexpr int kBatch = 1 << 16;  // records in one drain

class CountingSink : public ByteSink {
 public:
  Result<void> Write(std::span<const std::byte> bytes) override {
    total += bytes.size();
    if (keep != nullptr) {
      keep->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return {};
  }
  uint64_t total = 0;
  std::string* keep = nullptr;
};

class Functions : public CalledObjects {
 public:
  std::optional<Frame> Code(RemoteAddr code) override {
    Frame frame;
    frame.function = fmt::format("Package.Class{}.method_{}", code.value % 90, code.value);
    frame.file = fmt::format("/usr/lib/python3/dist-packages/package/module_{}.py", code.value % 60);
    frame.first_line = static_cast<int32_t>(1 + code.value % 700);
    return frame;
  }
  std::optional<Frame> Module(RemoteAddr, RemoteAddr) override { return std::nullopt; }
  std::optional<Frame> Callable(RemoteAddr, RemoteAddr) override { return std::nullopt; }
  void Changed(const std::vector<RemoteAddr>&, std::vector<RemoteAddr>*) override {}
};

struct Program {
  int functions;
  double mean_ns;
  int generators_in_100;
  int unwinds_in_100;
};
constexpr Program kPrograms[] = {{3, 20, 0, 0}, {900, 400, 4, 1}};

// A run of records that ends at the depth at which it began, so that it can be replayed repeatedly.
class Records {
 public:
  explicit Records(const Program& program) : program_(program) {
    std::vector<double> weights;
    for (int i = 1; i <= program.functions; ++i) {
      weights.push_back(std::pow(i, -1.0));
    }
    std::discrete_distribution<uint64_t> draw(weights.begin(), weights.end());
    while (static_cast<int>(records.size()) < kBatch - 256) {
      if (open_.empty() || (random_() % 100 < 51 && open_.size() < 60)) {
        Begin(1 + draw(random_));
      } else {
        End();
      }
    }
    while (!open_.empty()) {
      End();
    }
  }
  // Moves the records later by the length of a run.
  void Shift() {
    for (pp_record& record : records) {
      record.when_tag += length_ << PP_TAG_BITS;
    }
  }
  std::vector<pp_record> records;
  uint64_t events = 0;  // without the records that describe events

 private:
  void Say(uint32_t tag, uint64_t value) { records.push_back({PP_WHEN_TAG(length_, tag), value}); }
  void Wait() {
    std::exponential_distribution<double> wait(1 / program_.mean_ns);
    length_ += static_cast<uint64_t>(wait(random_)) + 5;
    ++events;
  }
  void Begin(uint64_t code) {
    const bool generator = static_cast<int>(random_() % 100) < program_.generators_in_100;
    Wait();
    open_.push_back({code, generator ? 0x1000 + code * 64 : 0});
    Say(generator ? PP_TAG_RESUME : PP_TAG_START, code);
    if (generator) {
      Say(PP_TAG_FRAME, open_.back().second);
    }
  }
  void End() {
    const auto [code, frame] = open_.back();
    open_.pop_back();
    Wait();
    const bool unwinds = static_cast<int>(random_() % 100) < program_.unwinds_in_100;
    Say(frame != 0 ? PP_TAG_YIELD : unwinds ? PP_TAG_UNWIND : PP_TAG_RETURN, code);
    if (frame != 0) {
      Say(PP_TAG_FRAME, frame);
    }
  }

  const Program program_;
  std::mt19937 random_{1};
  std::vector<std::pair<uint64_t, uint64_t>> open_;
  uint64_t length_ = 1'000'000;
};

struct Collector {
  explicit Collector(ByteSink& sink) : writer(sink, stacks, CaptureTask{}, TraceOrigin{}) {
    ProcessInfo process;
    process.pid = Pid(1);
    writer.AddProcess(process);
    ThreadInfo info;
    info.pid = Pid(1);
    info.tid = Tid(1);
    thread = writer.AddThread(info);
  }
  StackTable stacks;
  TraceWriter writer;
  ThreadHandle thread;
  Functions functions;
  CallNames names{stacks, functions};
  CallContext context{.names = names};
};

void BM_ReplayAndEncode(benchmark::State& state) {
  Records records(kPrograms[state.range(0)]);
  CountingSink sink;
  Collector collector(sink);
  TraceCallSink calls(collector.writer, collector.thread);
  CallReplayer replayer(collector.context, calls, Nanos(1));
  for (auto _ : state) {
    replayer.Feed(records.records, TickMap::Monotonic(), Nanos(INT64_MAX / 4));
    static_cast<void>(collector.writer.Flush());
    state.PauseTiming();
    records.Shift();
    state.ResumeTiming();
  }
  const auto events = static_cast<double>(state.iterations()) * static_cast<double>(records.events);
  state.counters["events_per_s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
  state.counters["bytes_per_event"] = static_cast<double>(sink.total) / events;
}
BENCHMARK(BM_ReplayAndEncode)->Arg(0)->Arg(1);

// Without the encoder: the cost of replaying alone.
void BM_Replay(benchmark::State& state) {
  class Nowhere final : public CallSink {
   public:
    void Begin(Nanos, FrameId, CallEntry, GeneratorId) override { ++calls; }
    void End(Nanos, CallExit) override {}
    void Lost(Nanos, Nanos, uint64_t) override {}
    uint64_t calls = 0;
  } nowhere;
  Records records(kPrograms[state.range(0)]);
  CountingSink sink;
  Collector collector(sink);
  CallReplayer replayer(collector.context, nowhere, Nanos(1));
  for (auto _ : state) {
    replayer.Feed(records.records, TickMap::Monotonic(), Nanos(INT64_MAX / 4));
  }
  benchmark::DoNotOptimize(nowhere.calls);
  const auto events = static_cast<double>(state.iterations()) * static_cast<double>(records.events);
  state.counters["events_per_s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Replay)->Arg(0)->Arg(1);

void BM_ReadCalls(benchmark::State& state) {
  Records records(kPrograms[state.range(0)]);
  std::string bytes;
  CountingSink sink;
  sink.keep = &bytes;
  Collector collector(sink);
  TraceCallSink calls(collector.writer, collector.thread);
  CallReplayer replayer(collector.context, calls, Nanos(1));
  constexpr int kBatches = 20;
  for (int i = 0; i < kBatches; ++i) {
    replayer.Feed(records.records, TickMap::Monotonic(), Nanos(INT64_MAX / 4));
    static_cast<void>(collector.writer.Flush());
    records.Shift();
  }
  for (auto _ : state) {
    TraceVisitor visitor;
    TraceReader reader(visitor);
    static_cast<void>(reader.Feed(std::as_bytes(std::span(bytes))));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes.size()));
  const auto events = static_cast<double>(state.iterations()) * kBatches * static_cast<double>(records.events);
  state.counters["events_per_s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
}
BENCHMARK(BM_ReadCalls)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ptrace_prof

BENCHMARK_MAIN();
