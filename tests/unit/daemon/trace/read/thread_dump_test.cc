// The dump of a trace in which many threads share their stacks.
#include "daemon/trace/read/thread_dump.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/trace/recorder.h"

namespace ptrace_prof {
namespace {

constexpr int kThreads = 50;
constexpr int kDepth = 100;
constexpr size_t kName = 1000;  // bytes

std::string ManyThreadsInOneStack() {
  MemorySink sink;
  StackTable stacks;
  TraceWriter writer(sink, stacks, RequestFor(10), FixedOrigin());
  writer.AddProcess({.pid = Pid(10)});
  Frame frame;
  frame.function = std::string(kName, 'f');
  StackId stack = kEmptyStack;
  for (int i = 0; i < kDepth; ++i) {
    stack = stacks.InternStack(stack, stacks.InternFrame(frame));
  }
  for (int i = 0; i < kThreads; ++i) {
    writer.AddSample(writer.AddThread({.pid = Pid(10), .tid = Tid(11 + i)}), Nanos(5'000'000'000'000), stack,
                     SampleQuality::kSeen);
  }
  EXPECT_TRUE(writer.End(Nanos(5'000'000'001'000), Accounting{}, EndInfo{}).has_value());
  return sink.bytes();
}

size_t FramesIn(const ThreadDump& dump) {
  size_t frames = 0;
  for (const DumpedProcess& process : dump.Processes()) {
    for (const DumpedThread& thread : process.threads) {
      frames += thread.frames.size();
    }
  }
  return frames;
}

size_t CutThreadsIn(const ThreadDump& dump) {
  size_t cut = 0;
  for (const DumpedProcess& process : dump.Processes()) {
    cut += static_cast<size_t>(std::ranges::count_if(
        process.threads, [](const DumpedThread& thread) { return thread.quality == SampleQuality::kTruncated; }));
  }
  return cut;
}

TEST(ThreadDump, HoldsAllThreads) {
  const std::string trace = ManyThreadsInOneStack();
  EXPECT_LT(trace.size(), kThreads * kDepth * kName / 10);  // each name is stored once
  ThreadDump dump;
  ASSERT_TRUE(dump.Feed(std::as_bytes(std::span(trace))).has_value());
  EXPECT_EQ(CutThreadsIn(dump), 0U);
  EXPECT_EQ(FramesIn(dump), size_t{kThreads} * kDepth);
}

TEST(ThreadDump, HoldsNoMoreThanItMay) {
  constexpr size_t kMost = 1 << 20;
  const std::string trace = ManyThreadsInOneStack();
  ThreadDump dump(kMost);
  ASSERT_TRUE(dump.Feed(std::as_bytes(std::span(trace))).has_value());
  EXPECT_GT(CutThreadsIn(dump), 0U);
  EXPECT_LT(CutThreadsIn(dump), size_t{kThreads});
  EXPECT_LT(FramesIn(dump) * kName, kMost);
  EXPECT_GT(FramesIn(dump), 0);
}

}  // namespace
}  // namespace ptrace_prof
