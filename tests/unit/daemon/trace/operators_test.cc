// Operators and memory of PyTorch through TraceWriter and back out of TraceReader.
#include <gtest/gtest.h>

#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/trace/recorder.h"

namespace ptrace_prof {
namespace {

class OperatorLog : public Recorder {
 public:
  void OnOperator(TrackId, const Operator& one) override { operators.push_back(one); }
  void OnAllocation(TrackId, const Allocation& one) override { allocations.push_back(one); }

  std::vector<Operator> operators;  // names live as long as the reader
  std::vector<Allocation> allocations;
};

TEST(TraceOperators, AllOfThemComeBack) {
  MemorySink sink;
  StackTable stacks;
  TraceWriter writer(sink, stacks, RequestFor(10), FixedOrigin());
  writer.AddProcess({.pid = Pid(10)});
  const ThreadHandle thread = writer.AddThread({.pid = Pid(10), .tid = Tid(11)});
  const Operator said{.begin = Nanos(kTraceStart + 10),
                      .end = Nanos(kTraceStart + 30),
                      .name = "aten::mm",
                      .handle = 77,
                      .sequence = 0,
                      .forward_thread = 3,
                      .thread = 4,
                      .scope = OperatorScope::kBackwardFunction,
                      .ending = OperatorEnd::kLost,
                      .is_async = true,
                      .cpu_memory = -4096,
                      .device_memory = int64_t{1} << 40};
  const Allocation taken{.when = Nanos(kTraceStart + 12),
                         .address = 0xffff'8000'0000'1000,
                         .bytes = int64_t{1} << 40,
                         .device = {1, 3},
                         .allocated = uint64_t{1} << 41,
                         .reserved = uint64_t{1} << 42,
                         .operator_handle = 77};
  const Allocation freed{.when = Nanos(kTraceStart + 20), .address = 0x1000, .bytes = -8};
  writer.AddAllocation(thread, taken);
  writer.AddAllocation(thread, freed);
  writer.AddOperator(thread, said);
  ASSERT_TRUE(writer.End(Nanos(kTraceStart + 100), Accounting{}, EndInfo{}).has_value());
  OperatorLog log;
  TraceReader reader(log);
  log.reader = &reader;
  ASSERT_TRUE(reader.Feed(std::as_bytes(std::span(sink.bytes()))).has_value());
  EXPECT_EQ(reader.skipped(), 0);
  ASSERT_EQ(log.operators.size(), 1U);
  const Operator& one = log.operators[0];
  EXPECT_EQ(std::tie(one.begin, one.end, one.name, one.handle, one.sequence, one.forward_thread, one.thread, one.scope,
                     one.ending, one.is_async, one.cpu_memory, one.device_memory),
            std::tie(said.begin, said.end, said.name, said.handle, said.sequence, said.forward_thread, said.thread,
                     said.scope, said.ending, said.is_async, said.cpu_memory, said.device_memory));
  ASSERT_EQ(log.allocations.size(), 2U);
  for (const auto& [read, written] : {std::pair(log.allocations[0], taken), std::pair(log.allocations[1], freed)}) {
    EXPECT_EQ(
        std::tie(read.when, read.address, read.bytes, read.device, read.allocated, read.reserved, read.operator_handle),
        std::tie(written.when, written.address, written.bytes, written.device, written.allocated, written.reserved,
                 written.operator_handle));
  }
}

}  // namespace
}  // namespace ptrace_prof
