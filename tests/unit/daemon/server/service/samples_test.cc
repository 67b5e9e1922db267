// StreamSamples: a batch that is too large for one message comes in several, and arrives whole.

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <map>
#include <thread>

#include "client/remote/batch_message.h"
#include "daemon/server/service/batch_parts.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/server/captures/fake_collector.h"
#include "tests/unit/daemon/server/service/serving.h"
#include "tests/unit/eventually.h"

namespace ptrace_prof {
namespace {

constexpr size_t kUsualLimit = 4 << 20;  // gRPC's default limit for clients

// {(thread, stack as text, leaf first): count}
using Counts = std::map<std::pair<int32_t, std::string>, uint64_t>;

Counts CountsOf(const SampleBatch& batch) {
  EXPECT_TRUE(batch.Valid());
  Counts counts;
  for (const SampleBatch::Thread& thread : batch.threads) {
    for (const SampleBatch::StackCount& one : thread.stacks) {
      std::string text;
      batch.ForEachFrame(one.stack, [&](const SampleBatch::Frame& frame) {
        text += fmt::format("{}:{};", batch.strings[frame.function], frame.line);
      });
      counts[{thread.tid.value, text}] += one.count;
    }
  }
  return counts;
}

// `stacks` stacks of `depth` frames each; no two frames of all of them are the same.
SampleBatch Wide(size_t stacks, size_t depth, const std::string& name, int32_t threads = 1) {
  SampleBatch batch;
  batch.strings = {name, "/app/x.py"};
  batch.processes.push_back(
      {.pid = Pid(7), .parent_pid = Pid(1), .name = "python3", .command = "x.py", .python = "3.11.7"});
  for (int32_t tid = 1; tid <= threads; ++tid) {
    batch.threads.push_back({.pid = Pid(7), .tid = Tid(tid), .name = "t", .gil_time = Nanos(1000), .stacks = {}});
  }
  for (size_t i = 0; i < stacks; ++i) {
    uint32_t stack = 0;
    for (size_t level = 0; level < depth; ++level) {
      batch.frames.push_back({.function = 0, .file = 1, .line = static_cast<int32_t>(batch.frames.size())});
      batch.stacks.push_back({.parent = stack, .frame = static_cast<uint32_t>(batch.frames.size() - 1)});
      stack = static_cast<uint32_t>(batch.stacks.size());
    }
    SampleBatch::Thread& thread = batch.threads[i % batch.threads.size()];
    thread.stacks.push_back({.stack = stack, .count = i + 1});
    batch.counters.samples += i + 1;
  }
  return batch;
}

struct Arrived {
  int messages = 0;
  size_t bytes = 0;
  int stacks = 0;  // that were sent
  SampleBatch batch;
  uint64_t left_out = 0;
};

Arrived Send(const SampleBatch& batch) {
  std::map<Pid, std::string> names;
  BatchParts parts(batch, names);
  BatchAssembly assembly;
  Arrived arrived;
  for (bool more = true; more;) {
    v1::SampleBatch message;
    more = parts.Fill(&message);
    message.set_more(more);
    ++arrived.messages;
    arrived.bytes += message.ByteSizeLong();
    arrived.stacks += message.stacks_size();
    EXPECT_LT(message.ByteSizeLong(), kUsualLimit);
    auto whole = assembly.Add(message);
    EXPECT_EQ(whole.has_value(), !more);
    arrived.batch = whole.value_or(SampleBatch());
  }
  arrived.left_out = parts.left_out();
  return arrived;
}

TEST(BatchParts, OneIsTheRule) {
  const SampleBatch batch = Wide(20, 30, "work", 3);
  const Arrived arrived = Send(batch);
  EXPECT_EQ(arrived.messages, 1);
  EXPECT_EQ(CountsOf(arrived.batch), CountsOf(batch));
  EXPECT_EQ(arrived.batch.processes.size(), 1U);
}

TEST(BatchParts, SeveralWhereThereIsTooMuchForOne) {
  const SampleBatch batch = Wide(600, 100, std::string(100, 'f'), 3);  // about 9 MB
  const Arrived arrived = Send(batch);
  EXPECT_GT(arrived.messages, 5);
  EXPECT_EQ(CountsOf(arrived.batch), CountsOf(batch));
  EXPECT_EQ(arrived.left_out, 0U);
  ASSERT_EQ(arrived.batch.threads.size(), 3U) << "a thread that is in several parts is one";
  EXPECT_EQ(arrived.batch.threads[0].gil_time, Nanos(1000)) << "and held the GIL once";
}

TEST(BatchParts, WhatStacksShareIsSentOnce) {
  SampleBatch batch = Wide(1, 2000, "deep", 2);
  batch.threads[0].stacks.clear();
  for (uint32_t depth = 0; depth <= 2000; ++depth) {  // deeper with each sample: 2 million frames in all
    batch.threads[depth % 2].stacks.push_back({.stack = depth, .count = 1});
  }
  const Arrived arrived = Send(batch);
  EXPECT_EQ(arrived.messages, 1);
  EXPECT_EQ(arrived.stacks, 2000);
  EXPECT_LT(arrived.bytes, 2000U * 64);
  EXPECT_EQ(CountsOf(arrived.batch), CountsOf(batch));
}

TEST(BatchParts, OneStackMayTakeSeveralParts) {
  const SampleBatch batch = Wide(1, 30'000, std::string(100, 'f'), 1);  // 4 MB
  const Arrived arrived = Send(batch);
  EXPECT_GT(arrived.messages, 3);
  EXPECT_EQ(arrived.stacks, 30'000);
  EXPECT_EQ(CountsOf(arrived.batch), CountsOf(batch));
  EXPECT_EQ(arrived.left_out, 0U);
}

TEST(BatchParts, WhatFitsNowhereIsCounted) {
  SampleBatch batch = Wide(2, 3, std::string(BatchParts::kMostBytes, 'f'), 1);
  const Arrived none = Send(batch);
  EXPECT_EQ(none.left_out, batch.counters.samples);
  EXPECT_TRUE(CountsOf(none.batch).empty());
  batch = Wide(700, 50, std::string(4000, 'f'), 2);  // 140 MB
  const Arrived some = Send(batch);
  EXPECT_EQ(some.messages, BatchParts::kMostParts);
  uint64_t arrived = 0;
  for (const auto& [stack, count] : CountsOf(some.batch)) {
    arrived += count;
  }
  EXPECT_EQ(arrived + some.left_out, batch.counters.samples);
  EXPECT_GT(arrived, 0U);
}

TEST(BatchAssembly, WhatPointsNowhereIsLostAndWhatNeverEndsIsCut) {
  v1::SampleBatch message;
  message.add_frames()->set_function("f");
  const auto add = [&](uint32_t frame, uint32_t parent) {
    message.add_stacks()->set_frame(frame);
    message.mutable_stacks()->rbegin()->set_parent(parent);
  };
  add(3, 0);  // no such frame
  add(0, 1);  // on an invalid stack
  add(0, 3);  // on itself
  add(0, 9);  // on a missing stack
  add(0, 0);
  v1::SampledThread& thread = *message.add_threads();
  for (const uint32_t stack : {1U, 2U, 3U, 4U, 7U, UINT32_MAX, 5U, 0U}) {
    thread.add_stacks(stack);
    thread.add_counts(1);
  }
  BatchAssembly assembly;
  const auto batch = assembly.Add(message);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->counters.lost, 6U);
  EXPECT_EQ(CountsOf(*batch), (Counts{{{0, ""}, 1}, {{0, "f:0;"}, 1}}));
  message.set_more(true);
  int parts = 1;
  while (!assembly.Add(message).has_value()) {
    ASSERT_LT(++parts, 100'000);
  }
}

// A trace with many different deep stacks, of every quality.
std::string DeepTrace(int samples, int depth) {
  MemorySink sink;
  StackTable stacks;
  TraceWriter writer(sink, stacks, CaptureTask{});
  writer.AddProcess({.pid = Pid(7),
                     .ns_pid = Pid(7),
                     .parent_pid = Pid(1),
                     .name = "python3",
                     .cmdline = {},
                     .python = "3.11",
                     .start_time = {}});
  ThreadInfo info;
  info.pid = Pid(7);
  info.tid = info.ns_tid = Tid(7);
  info.name = "MainThread";
  const ThreadHandle thread = writer.AddThread(info);
  Accounting totals;
  for (int i = 0; i < samples; ++i) {
    StackId stack = kEmptyStack;
    for (int level = 0; level < depth; ++level) {
      Frame frame;
      frame.function = fmt::format("function_{}_{}", i, level);
      frame.file = "/srv/app/module.py";
      frame.line = level + 1;
      stack = stacks.InternStack(stack, stacks.InternFrame(frame));
    }
    const auto quality = static_cast<SampleQuality>(static_cast<size_t>(i) % kSampleQualityCount);
    writer.AddSample(thread, Nanos(1'000'000'000 + int64_t{i} * 1'000'000), stack, quality);
    ++totals.samples;
    ++totals.by_quality[static_cast<size_t>(quality)];
    (void)writer.Flush().has_error();
  }
  (void)writer.End(Nanos(2'000'000'000), totals, {}).has_error();
  return sink.bytes();
}

class Samples : public testing::TestWithParam<Way> {
 protected:
  FakeStarter starter_;
  Serving serving_{GetParam(), {}, &starter_};
};
INSTANTIATE_TEST_SUITE_P(, Samples, testing::Values(Way::kInProcess, Way::kUnixSocket), NameOfWay);

TEST_P(Samples, AreNotOfCalls) {
  grpc::ClientContext context;
  v1::StreamSamplesRequest request;
  *request.mutable_spec() = SpecFor(7);
  request.mutable_spec()->set_mode(v1::MODE_TRACE);
  const auto stream = serving_.captures().StreamSamples(&context, request);
  v1::SampleBatch message;
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(starter_.started().empty());
}

TEST_P(Samples, OfManyStacksArriveWhole) {
  constexpr int kSamples = 500;
  grpc::ClientContext context;
  v1::StreamSamplesRequest request;
  *request.mutable_spec() = SpecFor(7);
  const auto stream = serving_.captures().StreamSamples(&context, request);
  ASSERT_TRUE(Eventually([&] { return !starter_.started().empty(); }));
  std::thread writing([&] {
    WriteAll(starter_.started().back()->output.get(), DeepTrace(kSamples, 100));
    starter_.started().back()->output.reset();
  });
  BatchAssembly assembly;
  v1::SampleBatch message;

  SampleBatch::Counters sum;
  uint64_t in_threads = 0;
  bool in_parts = false;
  while (stream->Read(&message)) {
    EXPECT_LT(message.ByteSizeLong(), kUsualLimit);
    in_parts = in_parts || message.more();
    const auto batch = assembly.Add(message);
    if (!batch.has_value()) {
      continue;
    }
    for (size_t i = 0; i < sum.by_quality.size(); ++i) {
      sum.by_quality[i] += batch->counters.by_quality[i];
    }
    sum.samples += batch->counters.samples;
    sum.thinned += batch->counters.thinned;
    for (const auto& [stack, count] : CountsOf(*batch)) {
      in_threads += count;
    }
  }
  writing.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(in_parts);
  EXPECT_EQ(sum.samples, uint64_t{kSamples});
  EXPECT_EQ(in_threads + sum.thinned, uint64_t{kSamples}) << "each is there, or counted as left out";
  EXPECT_EQ(sum.Of(SampleQuality::kTorn), uint64_t{kSamples / kSampleQualityCount});
  EXPECT_EQ(message.totals().torn(), uint64_t{kSamples / kSampleQualityCount});
}

// Samples of a client that does not read are counted together. Neither the daemon's disk nor its memory grows with
// them.
TEST_P(Samples, OfAClientThatDoesNotReadAreNotStored) {
  constexpr int kSamples = 4000;
  constexpr uint64_t kMost = 6 << 20;
  FakeStarter starter;
  Serving serving(GetParam(), {.live_bytes = kMost}, &starter);
  grpc::ClientContext context;
  v1::StreamSamplesRequest request;
  *request.mutable_spec() = SpecFor(7);
  request.mutable_interval()->set_nanos(50'000'000);
  const auto stream = serving.captures().StreamSamples(&context, request);
  ASSERT_TRUE(Eventually([&] { return !starter.started().empty(); }));
  const std::string trace = DeepTrace(kSamples, 100);
  ASSERT_GT(trace.size(), 2 * kMost);
  ASSERT_TRUE(WriteAll(starter.started().back()->output.get(), trace));
  starter.started().back()->output.reset();
  ASSERT_TRUE(Eventually([&] { return serving.registry().CountGoingOn() == 0; }));
  BatchAssembly assembly;
  v1::SampleBatch message;
  uint64_t samples = 0;
  while (stream->Read(&message)) {
    const auto batch = assembly.Add(message);
    samples += batch.has_value() ? batch->counters.samples : 0;
  }
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(samples, uint64_t{kSamples});
}

}  // namespace
}  // namespace ptrace_prof
