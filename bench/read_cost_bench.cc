// Measures the cost of one sample of a live interpreter, in bare reads: read_cost_bench --pid=PID [Google Benchmark
// options].
//
// BareRead is one process_vm_readv of 1 KiB from the target's runtime: the minimum that the kernel costs. Round is
// ProcessSampler::Sample on all threads of the target, with the writer's bytes thrown away; it flushes as often as
// Capture does. Pin it to another core than the target, and compare the two only by their ratio.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>

#include "attach/proc/process_memory.h"
#include "daemon/collector/sample/process_sampler.h"
#include "daemon/trace/stack_table.h"
#include "daemon/trace/write/byte_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {
namespace {

Pid g_pid;  // the target, from the command line: benchmarks take no arguments of their own

class NullSink final : public ByteSink {
 public:
  Result<void> Write(std::span<const std::byte> bytes) override {
    bytes_ += bytes.size();
    return {};
  }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

void BareRead(benchmark::State& state) {
  ProcessMemory memory(g_pid);
  const auto python = PythonProcess::Open(g_pid, memory);
  if (!python.has_value()) {
    state.SkipWithError(python.error().message.c_str());
    return;
  }
  std::array<std::byte, 1024> to;
  for (auto _ : state) {
    if (memory.Read(python.value().runtime, to.data(), to.size()) != ReadStatus::kOk) {
      state.SkipWithError("the target cannot be read");
      return;
    }
    benchmark::DoNotOptimize(to);
  }
}
BENCHMARK(BareRead);

void Round(benchmark::State& state) {
  CaptureTask request;
  SetTarget(g_pid, &request);
  request.mutable_spec()->mutable_sample()->set_idle(v1::IDLE_POLICY_ALL);
  request.mutable_spec()->mutable_sample()->set_rate_hz(0);
  request.mutable_spec()->mutable_sample()->set_nonblocking(true);
  StackTable stacks;
  NullSink sink;
  TraceWriter writer(sink, stacks, request);
  Accounting accounting;
  auto opened = ProcessSampler::Open(g_pid, Pid(0), {request, stacks, writer, accounting});
  if (!opened.has_value()) {
    state.SkipWithError(opened.error().message.c_str());
    return;
  }
  const std::unique_ptr<ProcessSampler> sampler = std::move(opened).value();
  constexpr int kRoundsPerFlush = 250;  // like Capture at 1 kHz, approximately
  constexpr int kWarmUp = 2000;
  int rounds = 0;
  Pacer pacer(0, {});  // no pauses
  const auto sample = [&] {
    if (!sampler->Sample(pacer)) {
      return false;
    }
    if (++rounds % kRoundsPerFlush == 0) {
      sampler->Flush();
      return writer.Flush().has_value();
    }
    return true;
  };
  for (int i = 0; i < kWarmUp; ++i) {
    if (!sample()) {
      state.SkipWithError("the target ended");
      return;
    }
  }
  const uint64_t reads = sampler->read_calls();
  const uint64_t samples = accounting.samples;
  for (auto _ : state) {
    if (!sample()) {
      state.SkipWithError("the target ended");
      return;
    }
  }
  const auto per_round = [&](double value) { return value / static_cast<double>(state.iterations()); };
  state.counters["reads"] = per_round(static_cast<double>(sampler->read_calls() - reads));
  state.counters["threads"] = per_round(static_cast<double>(accounting.samples - samples));
}
BENCHMARK(Round);

// Removes --pid=PID from the arguments and stores it.
bool TakePid(int* argc, char** argv) {
  constexpr std::string_view kFlag = "--pid=";
  int kept = 1;
  for (int i = 1; i < *argc; ++i) {
    const std::string_view word(argv[i]);
    if (word.starts_with(kFlag)) {
      std::from_chars(word.data() + kFlag.size(), word.data() + word.size(), g_pid.value);
    } else {
      argv[kept++] = argv[i];
    }
  }
  *argc = kept;
  return g_pid.value > 0;
}

}  // namespace
}  // namespace ptrace_prof

int main(int argc, char** argv) {
  if (!ptrace_prof::TakePid(&argc, argv)) {
    fmt::print(stderr, "{}: which process? --pid=PID names a running Python; bench/run.py starts one\n", argv[0]);
    return 2;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
