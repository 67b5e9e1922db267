// Measures the cost of a sample between AddSample and the sink, in time and in bytes: 8 threads, 3,000 stacks of depth
// 25, 500 Hz, four flushes a second. Stacks follow a power law, as in real programs.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "daemon/trace/read/trace_reader.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {
namespace {

constexpr int kThreads = 8;
constexpr int kStacks = 3000;
constexpr int kDepth = 25;
constexpr int kRoundsPerFlush = 125;
constexpr int64_t kInterval = 2'000'000;

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

// One simulated target. Every thread has 375 stacks of its own, with shared outer frames.
class Target {
 public:
  explicit Target(ByteSink& sink) : writer(sink, stacks_, CaptureTask{}, TraceOrigin::Here()) {
    ProcessInfo process;
    process.pid = Pid(1);
    writer.AddProcess(process);
    for (int i = 0; i < kThreads; ++i) {
      ThreadInfo info;
      info.pid = Pid(1);
      info.tid = Tid(1 + i);
      info.name = fmt::format("worker {}", i);
      threads_.push_back(writer.AddThread(info));
    }
    for (int i = 0; i < kStacks; ++i) {
      known_.push_back(MakeStack(i));
    }
    std::vector<double> weights;
    for (int i = 1; i <= kStacks / kThreads; ++i) {
      weights.push_back(std::pow(i, -1.2));
    }
    std::discrete_distribution<int> draw(weights.begin(), weights.end());
    for (int& number : order_) {
      number = draw(random_);
    }
  }

  void Round() {
    now_ += kInterval + static_cast<int64_t>(random_() % 400'000) - 200'000;
    for (int i = 0; i < kThreads; ++i) {
      const int which = order_[at_++ % std::size(order_)] * kThreads + i;
      writer.AddSample(threads_[i], Nanos(now_), known_[which], SampleQuality::kSeen);
    }
  }
  // Makes each thread take or release the GIL about `per_second` times a second.
  void ChangeStates(int per_second) {
    static const StateInfo kRunning{ThreadState::kRunning, true, ""};
    static const StateInfo kWaiting{ThreadState::kGilWait, false, ""};
    for (const ThreadHandle thread : threads_) {
      if (random_() % 500 < static_cast<unsigned>(per_second)) {
        writer.SetState(thread, Nanos(now_), ++flips_ % 2 == 0 ? kRunning : kWaiting);
      }
    }
  }

 private:
  StackId MakeStack(int number) {
    StackId stack = kEmptyStack;
    for (int level = 0; level < kDepth; ++level) {
      Frame frame;
      const int which = level < kDepth / 2 ? level : number * 7 + level;
      frame.function = fmt::format("Package.Class{}.method_{}", which % 90, which % 400);
      frame.file = fmt::format("/usr/lib/python3/dist-packages/package/module_{}.py", which % 60);
      frame.line = which % 700;
      frame.column = 8;
      stack = stacks_.InternStack(stack, stacks_.InternFrame(frame));
    }
    return stack;
  }

  std::mt19937 random_{1};
  StackTable stacks_;

 public:
  TraceWriter writer;

 private:
  std::vector<ThreadHandle> threads_;
  std::vector<StackId> known_;
  int order_[65'536];
  size_t at_ = 0;
  uint64_t flips_ = 0;
  int64_t now_ = TraceOrigin::Here().monotonic.value;
};

void BM_Sample(benchmark::State& state) {
  CountingSink sink;
  Target target(sink);
  const auto burst = [&] {
    for (int round = 0; round < kRoundsPerFlush; ++round) {
      target.Round();
    }
    static_cast<void>(target.writer.Flush());
  };
  for (int i = 0; i < 200; ++i) {
    burst();
  }
  for (auto _ : state) {
    burst();
  }
  const auto samples = static_cast<double>(state.iterations()) * kRoundsPerFlush * kThreads;
  state.counters["ns_per_sample"] =
      benchmark::Counter(samples * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Sample);

// An hour of recording; the argument is how often per second each thread changes its state.
void BM_Hour(benchmark::State& state) {
  constexpr int kRounds = 3600 * 500;
  for (auto _ : state) {
    CountingSink sink;
    Target target(sink);
    for (int round = 1; round <= kRounds; ++round) {
      target.Round();
      if (state.range(0) > 0) {
        target.ChangeStates(static_cast<int>(state.range(0)));
      }
      if (round % kRoundsPerFlush == 0) {
        static_cast<void>(target.writer.Flush());
      }
    }
    state.counters["bytes_per_sample"] = static_cast<double>(sink.total) / (double{kRounds} * kThreads);
    state.counters["MB"] = static_cast<double>(sink.total) / 1e6;
  }
}
BENCHMARK(BM_Hour)->Arg(0)->Arg(1)->Arg(10)->Arg(50)->Iterations(1)->Unit(benchmark::kMillisecond);

void BM_Read(benchmark::State& state) {
  std::string bytes;
  CountingSink sink;
  sink.keep = &bytes;
  Target target(sink);
  constexpr int kRounds = 50'000;
  for (int round = 1; round <= kRounds; ++round) {
    target.Round();
    if (round % kRoundsPerFlush == 0) {
      static_cast<void>(target.writer.Flush());
    }
  }
  for (auto _ : state) {
    TraceVisitor visitor;
    TraceReader reader(visitor);
    static_cast<void>(reader.Feed(std::as_bytes(std::span(bytes))));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes.size()));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kRounds * kThreads);
}
BENCHMARK(BM_Read)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ptrace_prof

BENCHMARK_MAIN();
