// TraceReader on bytes that are truncated, foreign, concatenated or hostile.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/read/packet_framer.h"
#include "daemon/trace/read/reader_vocabulary.h"
#include "daemon/trace/read/trace_reader.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/trace/recorder.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

ThreadInfo ThreadOf(int32_t pid, int32_t tid) {
  ThreadInfo info;
  info.pid = Pid(pid);
  info.tid = Tid(tid);
  info.name = "worker";
  return info;
}

// A small trace with samples, states and two flushes; times are a microsecond apart.
std::string SmallTrace(int32_t pid = 100, const TraceOrigin& origin = FixedOrigin()) {
  MemorySink sink;
  StackTable stacks;
  TraceWriter writer(sink, stacks, RequestFor(pid), origin);
  ProcessInfo process;
  process.pid = Pid(pid);
  writer.AddProcess(process);
  const ThreadHandle thread = writer.AddThread(ThreadOf(pid, pid + 1));
  int64_t now = origin.monotonic.value;
  for (int flush = 0; flush < 3; ++flush) {
    for (int i = 0; i < 10; ++i) {
      Frame frame;
      frame.function = i % 2 == 0 ? "even" : "odd";
      frame.line = flush;
      now += 1000;
      writer.SetState(thread, Nanos(now), {i < 5 ? ThreadState::kRunning : ThreadState::kIdle, false, "futex"});
      writer.AddSample(thread, Nanos(now), stacks.InternStack(kEmptyStack, stacks.InternFrame(frame)),
                       SampleQuality::kSeen);
    }
    EXPECT_TRUE(writer.Flush().has_value());
  }
  EXPECT_TRUE(writer.End(Nanos(now), Accounting{}, EndInfo{}).has_value());
  return sink.bytes();
}

std::string Packed(const pf::TracePacket& packet) {
  pf::Trace trace;
  *trace.add_packet() = packet;
  return trace.SerializeAsString();
}

// Our header, and a thread on sequence 7 ready to be sampled.
std::string Preamble() {
  pf::TracePacket header;
  header.set_trusted_packet_sequence_id(1);
  header.set_sequence_flags(pf::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
  header.MutableExtension(trace::ptrace_prof)->mutable_header()->set_task(CaptureTask().SerializeAsString());
  pf::TracePacket thread;
  thread.set_trusted_packet_sequence_id(7);
  thread.set_sequence_flags(pf::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
  thread.mutable_track_descriptor()->set_uuid(5);
  thread.mutable_track_descriptor()->mutable_thread()->set_tid(3);
  return Packed(header) + Packed(thread);
}

pf::TracePacket OnSequence() {
  pf::TracePacket packet;
  packet.set_trusted_packet_sequence_id(7);
  return packet;
}

TEST(TraceReader, EveryPrefixIsATrace) {
  const std::string whole = SmallTrace();
  ReadBack all(whole);
  ASSERT_EQ(all.visitor.threads.size(), 1u);
  const std::vector<RecordedSample>& samples = all.visitor.threads.at(TrackId(0)).samples;
  ASSERT_EQ(samples.size(), 30u);
  size_t most = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    ReadBack part(std::string_view(whole).substr(0, size));
    ASSERT_TRUE(part.status.has_value()) << size << ": " << part.status.error().message;
    ASSERT_EQ(part.reader.skipped(), 0u) << size;
    const auto& found = part.visitor.threads[TrackId(0)].samples;
    ASSERT_GE(found.size(), most);
    ASSERT_TRUE(std::equal(found.begin(), found.end(), samples.begin())) << size;
    most = found.size();
    ASSERT_TRUE(part.visitor.ends.empty());
  }
  EXPECT_EQ(most, 30u);
}

TEST(TraceReader, SaysWhetherTheTraceWasCutInsideAPacket) {
  const std::string whole = SmallTrace();
  EXPECT_FALSE(ReadBack(whole).reader.mid_packet());
  EXPECT_TRUE(ReadBack(std::string_view(whole).substr(0, whole.size() - 1)).reader.mid_packet());
}

TEST(TraceReader, ConcatenatedTraces) {
  TraceOrigin earlier = FixedOrigin();
  earlier.boot_id = "another host";
  earlier.monotonic.value -= 1'000'000'000;
  ReadBack back(SmallTrace() + SmallTrace(100, earlier) + SmallTrace(200));
  ASSERT_TRUE(back.status.has_value());
  EXPECT_EQ(back.reader.skipped(), 0u);
  EXPECT_EQ(back.visitor.requests.size(), 3u);
  EXPECT_EQ(back.visitor.ends.size(), 3u);
  ASSERT_EQ(back.visitor.threads.size(), 3u);  // equal pid and tid of two hosts are two threads
  for (const auto& [track, thread] : back.visitor.threads) {
    EXPECT_EQ(thread.samples.size(), 30u);
  }
  EXPECT_EQ(back.visitor.threads.at(TrackId(1)).samples[0].when, earlier.monotonic.value + 1000);
  EXPECT_EQ(back.reader.stacks().stack_count(), 6u);
}

TEST(TraceReader, SameSequenceIdsInConcatenatedTracesDoNoHarm) {
  ReadBack back(SmallTrace() + SmallTrace());
  EXPECT_EQ(back.reader.skipped(), 0u);
  ASSERT_EQ(back.visitor.threads.size(), 2u);
  EXPECT_EQ(back.visitor.threads.at(TrackId(0)).samples, back.visitor.threads.at(TrackId(1)).samples);
}

TEST(TraceReader, RefusesWhatIsNotATrace) {
  const auto refused = [](std::string_view bytes) {
    ReadBack back(bytes);
    return back.status.has_error() && back.status.error().reason == Reason::kNotATrace;
  };
  EXPECT_TRUE(refused("root:x:0:0:root:/root:/bin/bash\n"));
  EXPECT_TRUE(refused("\n\nThis begins as a packet would, but is a text with two empty lines before it.\n"));
  EXPECT_TRUE(refused("{\"traceEvents\": []}"));
  EXPECT_TRUE(
      refused("\x7f"
              "ELF"));
  EXPECT_TRUE(refused(std::string(100, '\0')));
  EXPECT_TRUE(refused("\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"));
}

TEST(TraceReader, RefusesForeignPerfettoTraces) {
  pf::TracePacket foreign;
  foreign.set_trusted_packet_sequence_id(1);
  foreign.mutable_clock_snapshot()->set_primary_trace_clock(pf::BUILTIN_CLOCK_BOOTTIME);
  ReadBack back(Packed(foreign) + Packed(foreign));
  ASSERT_TRUE(back.status.has_error());
  EXPECT_NE(back.status.error().message.find("not a ptrace-prof trace"), std::string::npos);
  EXPECT_TRUE(back.reader.Feed({}).has_error());  // for good
}

TEST(TraceReader, SkipsForeignPacketsAmongOurs) {
  pf::TracePacket foreign;
  foreign.set_trusted_packet_sequence_id(0x7fffffff);
  foreign.mutable_interned_data()->add_callstacks()->set_iid(99);
  foreign.mutable_streaming_profile_packet()->add_callstack_iid(99);
  ReadBack back(SmallTrace() + Packed(foreign) + SmallTrace(200));
  ASSERT_TRUE(back.status.has_value());
  EXPECT_EQ(back.reader.skipped(), 1u);
  EXPECT_EQ(back.visitor.threads.size(), 2u);
}

TEST(TraceReader, RefusesAPacketThatClaimsTooMuch) {
  std::string bytes = Preamble();
  const size_t at = bytes.size();
  bytes += '\n';
  for (uint64_t size = PacketFramer::kMaxPacket + 1; size > 0; size >>= 7) {
    bytes += static_cast<char>((size & 0x7f) | (size >> 7 != 0 ? 0x80 : 0));
  }
  ReadBack back(bytes);
  ASSERT_TRUE(back.status.has_error());
  EXPECT_NE(back.status.error().message.find("byte " + std::to_string(at)), std::string::npos)
      << back.status.error().message;
}

TEST(TraceReader, CountsIdsThatWereNeverDefined) {
  pf::TracePacket packet = OnSequence();
  packet.mutable_streaming_profile_packet()->add_callstack_iid(1);
  packet.mutable_streaming_profile_packet()->add_callstack_iid(0);
  packet.mutable_streaming_profile_packet()->add_callstack_iid(UINT64_MAX);
  for (int i = 0; i < 3; ++i) {
    packet.mutable_streaming_profile_packet()->add_timestamp_delta_us(INT64_MAX);
  }
  ReadBack back(Preamble() + Packed(packet));
  ASSERT_TRUE(back.status.has_value());
  EXPECT_EQ(back.reader.skipped(), 3u);
  EXPECT_TRUE(back.visitor.threads[TrackId(0)].samples.empty());
}

TEST(TraceReader, CountsDefinitionsOutOfOrder) {
  pf::TracePacket packet = OnSequence();
  for (const uint64_t iid : {uint64_t{2}, uint64_t{0}, uint64_t{UINT64_MAX}, uint64_t{1} << 40}) {
    packet.mutable_interned_data()->add_function_names()->set_iid(iid);
    packet.mutable_interned_data()->add_frames()->set_iid(iid);
    packet.mutable_interned_data()->add_callstacks()->set_iid(iid);
    packet.MutableExtension(trace::ptrace_prof)->add_frames()->set_iid(iid);
    packet.MutableExtension(trace::ptrace_prof)->add_states()->set_iid(iid);
  }
  ReadBack back(Preamble() + Packed(packet));
  ASSERT_TRUE(back.status.has_value());
  EXPECT_EQ(back.reader.skipped(), 16u);
}

TEST(TraceReader, SamplesWithoutTimesAreCounted) {
  pf::TracePacket packet = OnSequence();
  packet.mutable_interned_data()->add_callstacks()->set_iid(1);
  packet.mutable_streaming_profile_packet()->add_callstack_iid(1);
  packet.mutable_streaming_profile_packet()->add_callstack_iid(1);
  packet.mutable_streaming_profile_packet()->add_timestamp_delta_us(5);
  ReadBack back(Preamble() + Packed(packet));
  EXPECT_EQ(back.visitor.threads[TrackId(0)].samples.size(), 1u);
  EXPECT_EQ(back.reader.skipped(), 1u);
}

TEST(TraceReader, MarksBeyondTheSamplesAndUnknownQualities) {
  pf::TracePacket packet = OnSequence();
  packet.mutable_interned_data()->add_callstacks()->set_iid(1);
  packet.mutable_streaming_profile_packet()->add_callstack_iid(1);
  packet.mutable_streaming_profile_packet()->add_timestamp_delta_us(5);
  auto* marks = packet.MutableExtension(trace::ptrace_prof)->mutable_marks();
  marks->add_mark(7);  // quality 7 does not exist
  marks->add_mark(UINT64_MAX);
  ReadBack back(Preamble() + Packed(packet));
  ASSERT_EQ(back.visitor.threads[TrackId(0)].samples.size(), 1u);
  EXPECT_EQ(back.visitor.threads[TrackId(0)].samples[0].quality, SampleQuality::kTruncated);
}

TEST(TraceReader, StrangeCodesAndStatesAreUnknown) {
  pf::TracePacket packet = OnSequence();
  auto* state = packet.MutableExtension(trace::ptrace_prof)->add_states();
  state->set_iid(1);
  state->set_state(1000);
  state->set_detail(std::string(100'000, 'x'));
  packet.mutable_track_event()->set_type(pf::TrackEvent::TYPE_SLICE_BEGIN);
  packet.mutable_track_event()->set_name_iid(1);
  packet.MutableExtension(trace::ptrace_prof)->mutable_end()->set_code(4711);
  ReadBack back(Preamble() + Packed(packet));
  ASSERT_EQ(back.visitor.threads[TrackId(0)].states.size(), 1u);
  EXPECT_EQ(back.visitor.threads[TrackId(0)].states[0].state, ThreadState::kUnknown);
  EXPECT_LE(back.visitor.threads[TrackId(0)].states[0].detail.size(), 256u);
  EXPECT_EQ(back.visitor.ends.at(0).code, Code::kUnknown);
}

TEST(TraceReader, TablesAreBounded) {
  std::string text(PacketFramer::kMaxPacket - 1000, 'n');
  ReadBack back(Preamble());
  const size_t enough = ReaderVocabulary::kMaxTableBytes / text.size() + 4;
  for (uint64_t iid = 1; iid <= enough; ++iid) {
    pf::TracePacket packet = OnSequence();
    auto* name = packet.mutable_interned_data()->add_function_names();
    name->set_iid(iid);
    name->set_str(text);
    back.Feed(Packed(packet));
  }
  ASSERT_TRUE(back.status.has_value());
  EXPECT_GE(back.reader.skipped(), 3u);
  pf::TracePacket clear = OnSequence();  // a new incremental state frees them all
  clear.set_sequence_flags(pf::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
  clear.mutable_interned_data()->add_function_names()->set_iid(1);
  const uint64_t before = back.reader.skipped();
  back.Feed(Packed(clear));
  EXPECT_EQ(back.reader.skipped(), before);
}

}  // namespace
}  // namespace ptrace_prof
