// Counters: TraceReader returns what TraceWriter gets, as Perfetto's counter tracks; invalid bytes are skipped.
#include <gtest/gtest.h>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/trace/recorder.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

const CounterInfo kMemory = {"GPU 0 (Model X)", "memory used", CounterUnit::kBytes, int64_t{80} << 30};
const CounterInfo kPower = {"GPU 0 (Model X)", "power", CounterUnit::kMilliwatts, 0};

std::string TwoCounters() {
  MemorySink sink;
  const StackTable stacks;
  TraceWriter writer(sink, stacks, RequestFor(1), FixedOrigin());
  const CounterId memory = writer.AddCounter(kMemory);
  const CounterId power = writer.AddCounter(kPower);
  writer.AddCount(memory, Nanos(100), int64_t{7} << 30);
  writer.AddCount(power, Nanos(101), 0);
  writer.AddCount(memory, Nanos(200), -1);
  writer.AddCount(CounterId(9), Nanos(300), 1);  // of no counter
  EXPECT_TRUE(writer.End(Nanos(400), {}, {}).has_value());
  return sink.bytes();
}

TEST(CounterTrackTest, ReaderReportsWhatTheWriterWasReported) {
  for (const size_t piece : {size_t{1}, SIZE_MAX}) {
    const ReadBack back(TwoCounters(), piece);
    ASSERT_TRUE(back.status.has_value());
    EXPECT_EQ(back.reader.skipped(), 0);
    ASSERT_EQ(back.visitor.counters.size(), 2);
    EXPECT_EQ(back.visitor.counters[0].info, kMemory);
    EXPECT_EQ(back.visitor.counters[1].info, kPower);
    using Values = std::vector<std::pair<int64_t, int64_t>>;
    EXPECT_EQ(back.visitor.counters[0].values, (Values{{100, int64_t{7} << 30}, {200, -1}}));
    EXPECT_EQ(back.visitor.counters[1].values, (Values{{101, 0}}));
  }
}

TEST(CounterTrackTest, BytesAreCounterTracksOfOneGroup) {
  pf::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(TwoCounters()));
  uint64_t group = 0;
  size_t tracks = 0;
  size_t values = 0;
  for (const pf::TracePacket& packet : trace.packet()) {
    if (packet.has_track_descriptor() && packet.track_descriptor().has_counter()) {
      EXPECT_EQ(packet.track_descriptor().parent_uuid(), group);
      ++tracks;
    } else if (packet.has_track_descriptor()) {
      EXPECT_EQ(packet.track_descriptor().name(), kMemory.group);
      group = packet.track_descriptor().uuid();
    }
    if (packet.has_track_event()) {
      EXPECT_EQ(packet.track_event().type(), pf::TrackEvent::TYPE_COUNTER);
      EXPECT_TRUE(packet.track_event().has_counter_value());
      EXPECT_EQ(packet.timestamp_clock_id(), pf::BUILTIN_CLOCK_MONOTONIC);
      ++values;
    }
  }
  EXPECT_NE(group, 0);
  EXPECT_EQ(tracks, 2);
  EXPECT_EQ(values, 3);
}

TEST(CounterTrackTest, ValuesOfNoCounterAreCountedAsNonsense) {
  pf::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(TwoCounters()));
  for (pf::TracePacket& packet : *trace.mutable_packet()) {
    if (packet.has_track_event()) {
      packet.mutable_track_event()->set_track_uuid(4711);
    }
  }
  const ReadBack back(trace.SerializeAsString());
  EXPECT_TRUE(back.status.has_value());
  EXPECT_EQ(back.reader.skipped(), 3);
  EXPECT_TRUE(back.visitor.counters[0].values.empty());
}

}  // namespace
}  // namespace ptrace_prof
