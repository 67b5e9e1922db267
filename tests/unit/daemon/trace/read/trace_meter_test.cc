// Whether a trace holds anything.
#include "daemon/trace/read/trace_meter.h"

#include <gtest/gtest.h>

#include <functional>
#include <span>

#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {
namespace {

bool HoldsAnything(const std::function<void(TraceWriter&, StackTable&, ThreadHandle)>& fill,
                   const Accounting& totals = {}) {
  MemorySink sink;
  StackTable stacks;
  TraceWriter writer(sink, stacks, CaptureTask(), TraceOrigin());
  writer.AddProcess({.pid = Pid(10)});
  fill(writer, stacks, writer.AddThread({.pid = Pid(10), .tid = Tid(10)}));
  EXPECT_TRUE(writer.End(Nanos(1'000'000), totals, EndInfo{}).has_value());
  TraceMeter meter;
  EXPECT_TRUE(meter.Feed(std::as_bytes(std::span(sink.bytes()))).has_value());
  return meter.recorded_anything();
}

TEST(TraceMeterTest, SamplesOrOperatorsAreSomething) {
  const auto nothing = [](TraceWriter&, StackTable&, ThreadHandle) {};
  EXPECT_FALSE(HoldsAnything(nothing));
  EXPECT_TRUE(HoldsAnything([](TraceWriter& writer, StackTable& stacks, ThreadHandle thread) {
    const FrameId frame = stacks.InternFrame({.function = "f", .file = "f.py", .line = 1, .first_line = 1});
    writer.AddSample(thread, Nanos(1000), stacks.InternStack(kEmptyStack, frame), SampleQuality::kSeen);
  }));
  Accounting totals;
  totals.operators = 1;  // of PyTorch; the process may end before its first sample
  EXPECT_TRUE(HoldsAnything(nothing, totals));
}

}  // namespace
}  // namespace ptrace_prof
