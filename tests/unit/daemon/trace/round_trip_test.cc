// TraceReader returns what TraceWriter gets, and protobuf's own parser agrees about the bytes between them.
#include <fmt/format.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <random>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/trace/recorder.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

Frame RandomFrame(std::mt19937& random) {
  Frame frame;
  frame.function = fmt::format("Class.method_{}", random() % 40);
  frame.file = random() % 8 == 0 ? "<frozen importlib>" : fmt::format("/srv/app/module_{}.py", random() % 9);
  frame.line = static_cast<int32_t>(random() % 300);
  if (random() % 2 == 0) {
    frame.end_line = frame.line + 1;
    frame.column = static_cast<int32_t>(random() % 3);
    frame.end_column = frame.column + 9;
    frame.first_line = static_cast<int32_t>(random() % 200);
  }
  if (random() % 10 == 0) {
    frame.kind = FrameKind::kMarker;
  }
  return frame;
}

StackId RandomStack(std::mt19937& random, StackTable& stacks) {
  StackId stack = kEmptyStack;
  for (size_t depth = random() % 30; depth > 0; --depth) {
    stack = stacks.InternStack(stack, stacks.InternFrame(RandomFrame(random)));
  }
  return stack;
}

// Passes random data to a writer and remembers it.
class Scenario {
 public:
  explicit Scenario(uint32_t seed) : random_(seed), writer_(sink, stacks_, RequestFor(100), FixedOrigin()) {
    ProcessInfo process;
    process.pid = Pid(100);
    process.ns_pid = Pid(1);
    process.parent_pid = Pid(99);
    process.name = "python3";
    process.cmdline = {"python3", "", "train.py"};
    process.python = "3.11.7";
    process.start_time = Nanos(123'456);
    process.rank = 0;
    process.world_size = 8;
    writer_.AddProcess(process);
    processes.push_back(process);
  }

  void Run(int steps) {
    AddThread();
    for (int i = 0; i < steps; ++i) {
      now_ += 1000 * (1 + random_() % 4000);
      Step();
    }
    Accounting accounting;
    accounting.samples = samples;
    accounting.by_quality = {1, 2, 3, 4, 5, 6, 7};
    accounting.wall = Nanos(77);
    accounting.asked_rate_hz = 500.5;
    accounting.threads = 3;
    const EndInfo end = EndOf(Because(Reason::kTargetExeced, "it became another", "nothing to do", "process 7"));
    ASSERT_TRUE(writer_.End(Nanos(now_), accounting, end).has_value());
    for (auto& thread : threads) {
      RecordedState nothing;
      nothing.when = thread.ended == 0 ? now_ : thread.ended;
      if (!thread.states.empty() && !thread.states.back().SameState(nothing)) {
        thread.states.push_back(nothing);
      }
    }
  }

  MemorySink sink;
  uint64_t samples = 0;
  std::vector<ProcessInfo> processes;
  struct Thread : RecordedThread {
    ThreadHandle handle;
    int64_t ended = 0;
  };
  std::vector<Thread> threads;

 private:
  void Step() {
    Thread& thread = threads[random_() % threads.size()];
    switch (random_() % 40) {
      case 0: AddThread(); return;
      case 1: EndThread(thread); return;
      case 2: ASSERT_TRUE(writer_.Flush().has_value()); return;
      case 3: Rename(thread); return;
      case 4:
        if (random_() % 4 == 0) {
          ASSERT_TRUE(writer_.Flush().has_value());
          stacks_.Clear();
        }
        return;
      default: break;
    }
    if (thread.ended != 0) {
      return;
    }
    random_() % 4 == 0 ? SetState(thread) : AddSample(thread);
  }

  void AddThread() {
    Thread& thread = threads.emplace_back();
    ThreadInfo info;
    info.pid = Pid(100);
    info.tid = Tid(100 + static_cast<int32_t>(random_() % 5));  // reused on purpose
    info.ns_tid = Tid(1);
    info.name = fmt::format("thread-{}", threads.size());
    info.python_ident = random_();
    info.interpreter_id = random_() % 2;
    info.is_main = threads.size() == 1;
    thread.handle = writer_.AddThread(info);
    thread.infos.push_back(info);
    ASSERT_TRUE(writer_.Flush().has_value());
  }
  void EndThread(Thread& thread) {
    if (thread.ended == 0) {
      writer_.EndThread(thread.handle, Nanos(now_));
      thread.ended = now_;
    }
  }
  void Rename(Thread& thread) {
    if (thread.ended == 0) {
      thread.infos.push_back(thread.infos.back());
      thread.infos.back().name = fmt::format("renamed-{}", random_());
      writer_.RenameThread(thread.handle, thread.infos.back().name);
      ASSERT_TRUE(writer_.Flush().has_value());
    }
  }
  void SetState(Thread& thread) {
    static constexpr std::string_view kDetails[] = {"", "epoll_wait", "futex"};
    const StateInfo info{static_cast<ThreadState>(random_() % 6), random_() % 2 == 0, kDetails[random_() % 3]};
    writer_.SetState(thread.handle, Nanos(now_), info);
    const RecordedState state{now_, info.state, info.holds_gil, std::string(info.detail)};
    if (!(thread.states.empty() ? RecordedState{} : thread.states.back()).SameState(state)) {
      thread.states.push_back(state);
    }
  }
  void AddSample(Thread& thread) {
    const StackId stack = RandomStack(random_, stacks_);
    const auto quality =
        random_() % 3 == 0 ? static_cast<SampleQuality>(random_() % kSampleQualityCount) : SampleQuality::kSeen;
    writer_.AddSample(thread.handle, Nanos(now_), stack, quality);
    thread.samples.push_back({now_, FramesOf(stacks_, stack), quality});
    ++samples;
    if (random_() % 50 == 0) {
      const std::vector<LocalVariable> locals{{"x", "1", true}, {"y", "'é'", false}};
      writer_.AddLocals(thread.handle, 2, locals);
      thread.locals[{thread.samples.size(), 2}] = locals;
    }
  }

  std::mt19937 random_;
  StackTable stacks_;
  TraceWriter writer_;
  int64_t now_ = FixedOrigin().monotonic.value;
};

void ExpectSame(const ThreadInfo& a, const ThreadInfo& b) {
  EXPECT_EQ(a.pid, b.pid);
  EXPECT_EQ(a.tid, b.tid);
  EXPECT_EQ(a.ns_tid, b.ns_tid);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.python_ident, b.python_ident);
  EXPECT_EQ(a.interpreter_id, b.interpreter_id);
  EXPECT_EQ(a.is_main, b.is_main);
}

void ExpectSame(const Scenario::Thread& reported, const RecordedThread& read) {
  ASSERT_EQ(reported.infos.size(), read.infos.size());
  for (size_t i = 0; i < reported.infos.size(); ++i) {
    ExpectSame(reported.infos[i], read.infos[i]);
  }
  EXPECT_EQ(reported.samples, read.samples);
  EXPECT_EQ(reported.states, read.states);
  ASSERT_EQ(reported.locals.size(), read.locals.size());
  for (const auto& [key, locals] : reported.locals) {
    const auto& back = read.locals.at(key);
    ASSERT_EQ(locals.size(), back.size());
    for (size_t i = 0; i < locals.size(); ++i) {
      EXPECT_EQ(locals[i].name, back[i].name);
      EXPECT_EQ(locals[i].value, back[i].value);
      EXPECT_EQ(locals[i].is_argument, back[i].is_argument);
    }
  }
}

class RoundTrip : public testing::TestWithParam<uint32_t> {};

TEST_P(RoundTrip, ReportsWhatItWasReported) {
  Scenario scenario(GetParam());
  scenario.Run(3000);
  const std::string& bytes = scenario.sink.bytes();
  const size_t pieces[] = {SIZE_MAX, 1, 7, 4096};
  ReadBack back(bytes, pieces[GetParam() % 4]);
  ASSERT_TRUE(back.status.has_value()) << back.status.error().message;
  EXPECT_EQ(back.reader.skipped(), 0u);
  EXPECT_FALSE(back.reader.mid_packet());
  ASSERT_EQ(back.visitor.threads.size(), scenario.threads.size());
  for (size_t i = 0; i < scenario.threads.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectSame(scenario.threads[i], back.visitor.threads.at(TrackId(static_cast<uint32_t>(i))));
  }
  ASSERT_EQ(back.visitor.processes.size(), 1u);
  EXPECT_EQ(back.visitor.processes[0].cmdline, scenario.processes[0].cmdline);
  EXPECT_EQ(back.visitor.processes[0].python, "3.11.7");
  EXPECT_EQ(back.visitor.processes[0].ns_pid, Pid(1));
  EXPECT_EQ(back.visitor.processes[0].start_time, Nanos(123'456));
  EXPECT_EQ(back.visitor.processes[0].rank, 0);
  EXPECT_EQ(back.visitor.processes[0].world_size, 8);
  ASSERT_EQ(back.visitor.requests.size(), 1u);
  EXPECT_EQ(TargetOf(back.visitor.requests[0]), Pid(100));
  ASSERT_EQ(back.visitor.ends.size(), 1u);
  EXPECT_EQ(back.visitor.ends[0].code, Code::kGone);
  EXPECT_EQ(back.visitor.ends[0].message, "it became another");
  EXPECT_EQ(back.visitor.ends[0].remedy, "nothing to do");
  EXPECT_EQ(back.visitor.ends[0].reason, Reason::kTargetExeced);
  EXPECT_EQ(back.visitor.ends[0].thing, "process 7");
  ASSERT_EQ(back.visitor.accountings.size(), 1u);
  EXPECT_EQ(back.visitor.accountings[0].samples, scenario.samples);
  EXPECT_EQ(back.visitor.accountings[0].by_quality, (std::array<uint64_t, 7>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(back.visitor.accountings[0].asked_rate_hz, 500.5);
  EXPECT_EQ(back.visitor.accountings[0].wall, Nanos(77));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RoundTrip, testing::Range(1u, 13u));

TEST(TraceWriter, ProtobufUnderstandsEveryByte) {
  Scenario scenario(42);
  scenario.Run(2000);
  pf::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(scenario.sink.bytes()));
  uint64_t samples = 0;
  for (const pf::TracePacket& packet : trace.packet()) {
    EXPECT_NE(packet.trusted_packet_sequence_id(), 0u);
    EXPECT_TRUE(packet.unknown_fields().empty()) << packet.ShortDebugString();
    EXPECT_TRUE(packet.GetExtension(trace::ptrace_prof).unknown_fields().empty());
    EXPECT_EQ(packet.streaming_profile_packet().callstack_iid_size(),
              packet.streaming_profile_packet().timestamp_delta_us_size());
    samples += packet.streaming_profile_packet().callstack_iid_size();
  }
  EXPECT_EQ(samples, scenario.samples);
  EXPECT_EQ(trace.packet(0).GetExtension(trace::ptrace_prof).header().boot_id(), FixedOrigin().boot_id);
}

TEST(TraceWriter, CarriesTheDescriptorOfItsExtension) {
  Scenario scenario(1);
  scenario.Run(1);
  pf::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(scenario.sink.bytes()));
  google::protobuf::FileDescriptorSet descriptors;
  ASSERT_TRUE(descriptors.ParseFromString(trace.packet(1).extension_descriptor().extension_set()));
  ASSERT_EQ(descriptors.file_size(), 1);
  EXPECT_EQ(descriptors.file(0).extension(0).extendee(), ".perfetto.protos.TracePacket");
  EXPECT_EQ(descriptors.file(0).extension(0).number(), trace::kPtraceProfFieldNumber);
}

}  // namespace
}  // namespace ptrace_prof
