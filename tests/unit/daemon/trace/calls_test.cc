// Exact calls through TraceWriter and back out of TraceReader, and as protobuf itself reads them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/trace/recorder.h"

namespace ptrace_prof {
namespace {

// Every call event as a line.
class CallLog : public Recorder {
 public:
  void OnCallBegin(TrackId track, Nanos when, StackId stack, CallEntry entry, GeneratorId generator) override {
    const Frame& frame = reader->stacks().frame(reader->stacks().leaf(stack));
    std::string line = fmt::format("{} +{} begin {}:{} depth {} entry {}", TidOf(track), when.value - kTraceStart,
                                   frame.function, frame.line, reader->stacks().depth(stack), static_cast<int>(entry));
    if (generator.value != 0) {
      const auto id = flows.try_emplace(generator.value, flows.size() + 1).first->second;
      line += fmt::format(" generator {}", id);
    }
    lines.push_back(line);
  }
  void OnCallEnd(TrackId track, Nanos when, StackId stack, CallExit exit) override {
    lines.push_back(fmt::format("{} +{} end depth {} exit {}", TidOf(track), when.value - kTraceStart,
                                reader->stacks().depth(stack), static_cast<int>(exit)));
  }
  void OnLostCalls(TrackId track, Nanos when, uint64_t events) override {
    lines.push_back(fmt::format("{} +{} lost {}", TidOf(track), when.value - kTraceStart, events));
  }
  void OnStep(TrackId track, Nanos begin, Nanos end, uint64_t number) override {
    lines.push_back(
        fmt::format("{} step {} +{} +{}", TidOf(track), number, begin.value - kTraceStart, end.value - kTraceStart));
  }
  int TidOf(TrackId track) { return threads[track].infos.back().tid.value; }

  std::vector<std::string> lines;
  std::map<uint64_t, size_t> flows;
};

std::vector<std::string> CallLines(std::string_view bytes, size_t piece = SIZE_MAX) {
  CallLog log;
  TraceReader reader(log);
  log.reader = &reader;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    EXPECT_TRUE(reader.Feed(std::as_bytes(std::span(part))).has_value());
    bytes.remove_prefix(part.size());
  }
  EXPECT_EQ(reader.skipped(), 0);
  return log.lines;
}

struct Traced {
  explicit Traced(const TraceOrigin& origin = FixedOrigin()) : writer(sink, stacks, RequestFor(10), origin) {
    ProcessInfo process;
    process.pid = Pid(10);
    writer.AddProcess(process);
    main = Thread(10);
  }
  ThreadHandle Thread(int tid) {
    ThreadInfo info;
    info.pid = Pid(10);
    info.tid = Tid(tid);
    info.name = "worker";
    return writer.AddThread(info);
  }
  FrameId Function(const std::string& name, int line = 7, FrameKind kind = FrameKind::kPython) {
    Frame frame;
    frame.function = name;
    frame.file = kind == FrameKind::kPython ? "/srv/" + name + ".py" : "";
    frame.line = frame.first_line = kind == FrameKind::kPython ? line : 0;
    frame.kind = kind;
    return stacks.InternFrame(frame);
  }
  void Begin(ThreadHandle thread, int64_t at, FrameId function, CallEntry entry = CallEntry::kCall,
             uint64_t generator = 0) {
    writer.BeginCall(thread, Nanos(kTraceStart + at), function, entry, GeneratorId(generator));
  }
  void End(ThreadHandle thread, int64_t at, CallExit exit = CallExit::kReturn) {
    writer.EndCall(thread, Nanos(kTraceStart + at), exit);
  }
  std::string Finish(int64_t at) {
    EXPECT_TRUE(writer.End(Nanos(kTraceStart + at), Accounting{}, EndInfo{}).has_value());
    return sink.bytes();
  }
  MemorySink sink;
  StackTable stacks;
  TraceWriter writer;
  ThreadHandle main;
};

std::string SomeCalls() {
  Traced traced;
  const ThreadHandle other = traced.Thread(11);
  const FrameId main = traced.Function("main");
  const FrameId gen = traced.Function("gen", 9);
  const FrameId len = traced.Function("len", 0, FrameKind::kC);
  traced.Begin(traced.main, 0, main, CallEntry::kRunning);
  traced.Begin(other, 5, main);
  traced.Begin(traced.main, 1'000, gen, CallEntry::kCall, 77);
  traced.Begin(traced.main, 1'040, len);
  traced.End(traced.main, 1'060);
  traced.End(traced.main, 20'000, CallExit::kYield);
  traced.Begin(traced.main, 20'001, gen, CallEntry::kResume, 77);
  traced.writer.BeginStep(traced.main, Nanos(kTraceStart + 20'002), 3);
  traced.End(traced.main, 3'000'000, CallExit::kUnwind);
  traced.writer.BeginStep(traced.main, Nanos(kTraceStart + 3'000'001), 4);
  traced.End(other, 4'000'000);
  traced.writer.AddLostCalls(traced.main, Nanos(kTraceStart + 4'000'001), Nanos(kTraceStart + 4'000'100), 1234);
  return traced.Finish(5'000'000);
}

const std::vector<std::string> kSomeLines = {
    "10 +0 begin main:7 depth 1 entry 3",
    "11 +5 begin main:7 depth 1 entry 0",
    "10 +1000 begin gen:9 depth 2 entry 0 generator 1",
    "10 +1040 begin len:0 depth 3 entry 0",
    "10 +1060 end depth 3 exit 0",
    "10 +20000 end depth 2 exit 1",
    "10 +20001 begin gen:9 depth 2 entry 1 generator 1",
    "10 +3000000 end depth 2 exit 2",
    "10 step 3 +20002 +3000001",
    "11 +4000000 end depth 1 exit 0",
    "10 +4000001 lost 1234",
    "10 +4000001 begin [events lost]:0 depth 2 entry 4",
    "10 +4000100 end depth 2 exit 0",
    "10 +5000000 end depth 1 exit 3",
    "10 step 4 +3000001 +5000000",
};

TEST(CallsTest, ComeBackAsTheyWere) {
  const std::string trace = SomeCalls();
  for (const size_t piece : {size_t{1}, size_t{7}, SIZE_MAX}) {
    EXPECT_EQ(CallLines(trace, piece), kSomeLines) << piece;
  }
}

TEST(CallsTest, EveryPrefixIsATrace) {
  const std::string trace = SomeCalls();
  size_t most = 0;
  for (size_t size = 0; size <= trace.size(); ++size) {
    const std::vector<std::string> lines = CallLines(std::string_view(trace).substr(0, size));
    ASSERT_GE(lines.size(), most);
    most = lines.size();
    ASSERT_TRUE(std::equal(lines.begin(), lines.end(), kSomeLines.begin())) << size;
  }
  EXPECT_EQ(most, kSomeLines.size());
}

TEST(CallsTest, NestWhateverIsWritten) {
  Traced traced;
  const FrameId f = traced.Function("f");
  traced.End(traced.main, 0);
  traced.Begin(traced.main, 100, f);
  traced.Begin(traced.main, 50, f);  // time went back
  traced.End(traced.main, 60);
  traced.End(traced.main, 200);
  traced.End(traced.main, 300);
  traced.Begin(ThreadHandle(99), 1, f);  // no such thread
  EXPECT_EQ(CallLines(traced.Finish(400)),
            (std::vector<std::string>{"10 +100 begin f:7 depth 1 entry 0", "10 +100 begin f:7 depth 2 entry 0",
                                      "10 +100 end depth 2 exit 0", "10 +200 end depth 1 exit 0"}));
}

TEST(CallsTest, OfAnyDepth) {
  Traced traced;
  const FrameId f = traced.Function("f");
  for (int i = 0; i < 3'000; ++i) {
    traced.Begin(traced.main, i, f);
    if (i == 1'200) {
      traced.writer.BeginStep(traced.main, Nanos(kTraceStart + i), 5);
    }
  }
  for (int i = 0; i < 3'000; ++i) {
    traced.End(traced.main, 3'000 + i);
  }
  traced.writer.EndStep(traced.main, Nanos(kTraceStart + 7'000));
  const std::vector<std::string> lines = CallLines(traced.Finish(8'000));
  ASSERT_EQ(lines.size(), 6'001);
  EXPECT_EQ(lines[2'999], "10 +2999 begin f:7 depth 3000 entry 0");
  EXPECT_EQ(lines[3'000], "10 +3000 end depth 3000 exit 0");
  EXPECT_EQ(lines[5'999], "10 +5999 end depth 1 exit 0");
  EXPECT_EQ(lines[6'000], "10 step 5 +1200 +7000");
}

TEST(CallsTest, SurviveAClearedTable) {
  Traced traced;
  traced.Begin(traced.main, 0, traced.Function("before"));
  ASSERT_TRUE(traced.writer.Flush().has_value());
  traced.stacks.Clear();
  traced.Begin(traced.main, 10, traced.Function("after"));
  traced.End(traced.main, 20);
  traced.End(traced.main, 30);
  EXPECT_EQ(CallLines(traced.Finish(40)),
            (std::vector<std::string>{"10 +0 begin before:7 depth 1 entry 0", "10 +10 begin after:7 depth 2 entry 0",
                                      "10 +20 end depth 2 exit 0", "10 +30 end depth 1 exit 0"}));
}

TEST(CallsTest, OfAThreadThatTookTheIdOfAnEndedOneAreItsOwn) {
  Traced traced;
  traced.Begin(traced.main, 0, traced.Function("first"));
  traced.writer.EndThread(traced.main, Nanos(kTraceStart + 10));
  const ThreadHandle again = traced.Thread(10);
  traced.Begin(again, 20, traced.Function("second"));
  EXPECT_EQ(CallLines(traced.Finish(30)),
            (std::vector<std::string>{"10 +0 begin first:7 depth 1 entry 0", "10 +10 end depth 1 exit 3",
                                      "10 +20 begin second:7 depth 1 entry 0", "10 +30 end depth 1 exit 3"}));
}

TEST(CallsTest, OfManyThreadsOneAfterAnother) {
  Traced traced;
  const FrameId f = traced.Function("f");
  std::vector<ThreadHandle> alive;
  for (int i = 0; i < 400; ++i) {
    alive.push_back(traced.Thread(100 + i));
    traced.Begin(alive.back(), i, f);
    if (i % 2 == 1) {
      traced.writer.EndThread(alive[static_cast<size_t>(i / 2)], Nanos(kTraceStart + i));
    }
  }
  const std::vector<std::string> lines = CallLines(traced.Finish(1'000));
  EXPECT_EQ(lines.size(), 800);
  EXPECT_EQ(lines.front(), "100 +0 begin f:7 depth 1 entry 0");
  EXPECT_EQ(lines.back(), "499 +1000 end depth 1 exit 3");
}

TEST(CallsTest, ShortIdsOfNeighboursDiffer) {
  const TraceOrigin here = FixedOrigin();
  TraceOrigin container = here;
  container.pid_namespace = 4'026'532'000;
  std::set<uint32_t> ids;
  for (int pid = 30'000; pid < 46'384; ++pid) {
    const uint32_t id = ShortSequenceIds(here, Pid(pid));
    EXPECT_LT(id + kShortSequenceIds, 1u << 21);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 16'384);
  EXPECT_NE(ShortSequenceIds(here, Pid(7)), ShortSequenceIds(container, Pid(7)));
}

TEST(CallsTest, NoticesAndCountsComeBack) {
  Traced traced;
  traced.writer.AddNotice(Nanos(kTraceStart + 1), "it costs so much");
  traced.writer.AddNotice(Nanos(kTraceStart + 2), std::string(100'000, 'x'));
  traced.writer.AddWindow({Nanos(kTraceStart + 1), Nanos(kTraceStart + 2)});
  Accounting accounting;
  accounting.steps = 3;
  accounting.events_outside_steps = 4;
  accounting.children_not_traced = 5;
  accounting.holds = 6;
  accounting.held_total = Nanos(7);
  accounting.stopped_longest = Nanos(8);
  ASSERT_TRUE(traced.writer.End(Nanos(kTraceStart + 3), accounting, EndInfo{}).has_value());
  Recorder recorder;
  TraceReader reader(recorder);
  recorder.reader = &reader;
  ASSERT_TRUE(reader.Feed(std::as_bytes(std::span(traced.sink.bytes()))).has_value());
  EXPECT_EQ(recorder.windows, (std::vector<std::pair<int64_t, int64_t>>{{kTraceStart + 1, kTraceStart + 2}}));
  ASSERT_EQ(recorder.notices.size(), 2U);
  EXPECT_EQ(recorder.notices[0], (std::pair<int64_t, std::string>(kTraceStart + 1, "it costs so much")));
  EXPECT_EQ(recorder.notices[1].second.size(), 4096U);  // cut
  ASSERT_EQ(recorder.accountings.size(), 1U);
  EXPECT_EQ(recorder.accountings[0].steps, 3U);
  EXPECT_EQ(recorder.accountings[0].events_outside_steps, 4U);
  EXPECT_EQ(recorder.accountings[0].children_not_traced, 5U);
  EXPECT_EQ(recorder.accountings[0].holds, 6U);
  EXPECT_EQ(recorder.accountings[0].held_total, Nanos(7));
  EXPECT_EQ(recorder.accountings[0].stopped_longest, Nanos(8));
}

TEST(CallsTest, TimeForWhichAThreadWaitedHasAMarkerOfItsOwn) {
  Traced traced;
  traced.Begin(traced.main, 0, traced.Function("main"));
  traced.writer.AddLostCalls(traced.main, Nanos(kTraceStart + 10), Nanos(kTraceStart + 20), 0);
  traced.writer.AddLostCalls(traced.main, Nanos(kTraceStart + 30), Nanos(kTraceStart + 40), 7);
  traced.End(traced.main, 50);
  const std::vector<std::string> expected = {
      "10 +0 begin main:7 depth 1 entry 0",
      "10 +10 lost 0",
      fmt::format("10 +10 begin {}:0 depth 2 entry 4", kHeldMarker),
      "10 +20 end depth 2 exit 0",
      "10 +30 lost 7",
      fmt::format("10 +30 begin {}:0 depth 2 entry 4", kLostMarker),
      "10 +40 end depth 2 exit 0",
      "10 +50 end depth 1 exit 0",
  };
  EXPECT_EQ(CallLines(traced.Finish(60)), expected);
}

TEST(CallsTest, OfTwoTracesInARow) { EXPECT_EQ(CallLines(SomeCalls() + SomeCalls()).size(), 2 * kSomeLines.size()); }

TEST(CallsTest, AreTrackEventsOfTheThread) {
  perfetto::protos::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(SomeCalls()));
  std::map<uint32_t, int> open;
  std::map<std::string, int> names;
  int ends = 0;
  uint64_t thread = 0;
  std::map<std::pair<uint32_t, uint64_t>, std::string> interned;
  for (const auto& packet : trace.packet()) {
    if (packet.track_descriptor().thread().tid() == 10) {
      thread = packet.track_descriptor().uuid();
    }
    for (const auto& name : packet.interned_data().event_names()) {
      interned[{packet.trusted_packet_sequence_id(), name.iid()}] = name.name();
    }
    if (packet.track_event().type() == perfetto::protos::TrackEvent::TYPE_SLICE_BEGIN) {
      const auto& event = packet.track_event();
      ++names[event.has_name() ? event.name() : interned[{packet.trusted_packet_sequence_id(), event.name_iid()}]];
    }
    ends += packet.track_event().type() == perfetto::protos::TrackEvent::TYPE_SLICE_END ? 1 : 0;
  }
  EXPECT_NE(thread, 0);
  EXPECT_EQ(names, (std::map<std::string, int>{{"main (main.py:7)", 2},
                                               {"gen (gen.py:9)", 2},
                                               {"len", 1},
                                               {"[events lost]", 1},
                                               {"ProfilerStep#3", 1},
                                               {"ProfilerStep#4", 1}}));
  EXPECT_EQ(ends, 8);
}

// A program of many functions that is called every 300 ns: the size of the stream.
TEST(CallsTest, TakeFewBytes) {
  Traced traced;
  std::vector<FrameId> functions;
  for (int i = 0; i < 300; ++i) {
    functions.push_back(traced.Function(fmt::format("function_{}", i)));
  }
  constexpr int kCalls = 200'000;
  int64_t at = 0;
  for (int i = 0; i < kCalls; ++i) {
    traced.Begin(traced.main, at += 100 + i % 400, functions[static_cast<size_t>(i * 7919) % functions.size()]);
    if (i % 3 != 0) {
      traced.End(traced.main, at += 100 + i % 400);
      traced.End(traced.main, at += 100);
    }
  }
  const double events = 2.0 * kCalls;
  EXPECT_LE(static_cast<double>(traced.Finish(at).size()) / events, 14.6);
}

}  // namespace
}  // namespace ptrace_prof
