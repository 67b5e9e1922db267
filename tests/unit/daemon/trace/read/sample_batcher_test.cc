#include "daemon/trace/read/sample_batcher.h"

#include <gtest/gtest.h>

#include <map>

#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/trace/recorder.h"

namespace ptrace_prof {
namespace {

// A trace that grows: what is written reaches the batcher at Pass().
class SampleBatcherTest : public testing::Test {
 protected:
  explicit SampleBatcherTest(const SampleBatcher::Limits& limits = {}) : batcher_(limits) {
    writer_.AddProcess({.pid = Pid(71),
                        .ns_pid = Pid(71),
                        .parent_pid = Pid(1),
                        .name = "python3",
                        .cmdline = {"python3", "train.py"},
                        .python = "3.11.7",
                        .start_time = {}});
  }

  ThreadHandle Thread(int32_t tid, const std::string& name) {
    ThreadInfo info;
    info.pid = Pid(71);
    info.tid = info.ns_tid = Tid(tid);
    info.name = name;
    info.is_main = tid == 71;
    return writer_.AddThread(info);
  }

  // A stack of functions, outermost first; a ':' begins the line.
  StackId Stack(const std::vector<std::string>& functions, int32_t column = -1) {
    StackId stack = kEmptyStack;
    for (const std::string& text : functions) {
      Frame frame;
      frame.function = text.substr(0, text.find(':'));
      frame.file = "/app/x.py";
      frame.line = text.find(':') == std::string::npos ? 1 : std::stoi(text.substr(text.find(':') + 1));
      frame.column = column;
      stack = stacks_.InternStack(stack, stacks_.InternFrame(frame));
    }
    return stack;
  }

  void Sample(ThreadHandle thread, StackId stack, int times = 1, SampleQuality quality = SampleQuality::kSeen) {
    for (int i = 0; i < times; ++i) {
      writer_.AddSample(thread, now_, stack, quality);
      now_ = now_ + Nanos::FromMillis(1);
    }
  }

  void Pass() {
    ASSERT_TRUE(writer_.Flush().has_value());
    ASSERT_TRUE(batcher_.Feed(std::as_bytes(std::span(sink_.bytes()).subspan(passed_))).has_value());
    passed_ = sink_.bytes().size();
  }

  // "thread: function:line;function:line" (leaf first) → count
  static std::map<std::string, uint64_t> Counts(const SampleBatch& batch) {
    EXPECT_TRUE(batch.Valid());
    std::map<std::string, uint64_t> counts;
    for (const SampleBatch::Thread& thread : batch.threads) {
      for (const SampleBatch::StackCount& one : thread.stacks) {
        std::string text = thread.name + ":";
        batch.ForEachFrame(one.stack, [&](const SampleBatch::Frame& frame) {
          text += " " + batch.strings[frame.function] + ":" + std::to_string(frame.line);
        });
        EXPECT_FALSE(counts.contains(text)) << text << " is there twice";
        counts[text] += one.count;
      }
    }
    return counts;
  }

  MemorySink sink_;
  StackTable stacks_;
  TraceWriter writer_{sink_, stacks_, RequestFor(71), FixedOrigin()};
  SampleBatcher batcher_;
  size_t passed_ = 0;
  Nanos now_ = Nanos::FromSeconds(1000);
};

TEST_F(SampleBatcherTest, CountsStacksOfThreads) {
  const ThreadHandle main = Thread(71, "MainThread");
  const ThreadHandle worker = Thread(72, "worker");
  Sample(main, Stack({"main:3", "f:10"}), 5);
  Sample(main, Stack({"main:3"}), 2, SampleQuality::kTruncated);
  Sample(worker, Stack({"run:7", "f:10"}), 3, SampleQuality::kStaleNames);
  Sample(worker, kEmptyStack);
  Pass();
  EXPECT_TRUE(batcher_.any_process());
  const SampleBatch batch = batcher_.Take(Nanos(5));
  EXPECT_EQ(Counts(batch),
            (std::map<std::string, uint64_t>{
                {"MainThread: f:10 main:3", 5}, {"MainThread: main:3", 2}, {"worker: f:10 run:7", 3}, {"worker:", 1}}));
  EXPECT_EQ(batch.counters.samples, 11U);
  EXPECT_EQ(batch.counters.Of(SampleQuality::kTruncated), 2U);
  EXPECT_EQ(batch.counters.Of(SampleQuality::kStaleNames), 3U);
  EXPECT_EQ(batch.counters.thinned, 0U);
  EXPECT_EQ(batch.end, Nanos(5));
  ASSERT_EQ(batch.processes.size(), 1U);
  EXPECT_EQ(batch.processes[0].command, "python3 train.py");
  EXPECT_EQ(batch.processes[0].python, "3.11.7");
  EXPECT_EQ(batch.threads[0].pid, Pid(71));
  EXPECT_TRUE(batch.threads[0].is_main);
  EXPECT_FALSE(batch.threads[1].is_main);
  EXPECT_EQ(batch.frames.size(), 3U) << "f is one frame";
}

TEST_F(SampleBatcherTest, EachBatchIsCompleteInItself) {
  const ThreadHandle main = Thread(71, "MainThread");
  for (int round = 1; round < 4; ++round) {
    Sample(main, Stack({"main", "f"}), round);
    Pass();
    const SampleBatch batch = batcher_.Take(Nanos(round));
    EXPECT_EQ(Counts(batch), (std::map<std::string, uint64_t>{{"MainThread: f:1 main:1", round}}));
    EXPECT_EQ(batch.end, Nanos(round));
    EXPECT_EQ(batch.processes.size(), 1U);
  }
  const SampleBatch idle = batcher_.Take(Nanos(9));
  EXPECT_EQ(idle.begin, Nanos(3));
  EXPECT_TRUE(idle.threads.empty());
  EXPECT_TRUE(idle.strings.empty());
  EXPECT_EQ(batcher_.samples(), 6U);
}

TEST_F(SampleBatcherTest, ColumnsDoNotMatter) {
  const ThreadHandle main = Thread(71, "MainThread");
  Sample(main, Stack({"main", "f"}, 4), 2);
  Sample(main, Stack({"main", "f"}, 9), 3);
  Pass();
  const SampleBatch batch = batcher_.Take(Nanos(1));
  EXPECT_EQ(Counts(batch), (std::map<std::string, uint64_t>{{"MainThread: f:1 main:1", 5}}));
  EXPECT_EQ(batch.stacks.size(), 2U);
}

TEST_F(SampleBatcherTest, KnowsStatesAndTheGil) {
  const ThreadHandle main = Thread(71, "MainThread");
  const ThreadHandle idler = Thread(72, "idler");
  const Nanos begin = now_;
  writer_.SetState(main, begin, {.state = ThreadState::kRunning, .holds_gil = true, .detail = {}});
  writer_.SetState(idler, begin, {.state = ThreadState::kIdle, .holds_gil = false, .detail = "futex"});
  Sample(main, Stack({"f"}), 100);
  Pass();
  const SampleBatch first = batcher_.Take(Nanos(1));
  ASSERT_EQ(first.threads.size(), 2U);
  for (const SampleBatch::Thread& thread : first.threads) {
    const bool is_main = thread.tid == Tid(71);
    EXPECT_EQ(thread.state, is_main ? ThreadState::kRunning : ThreadState::kIdle);
    EXPECT_EQ(thread.holds_gil, is_main);
    EXPECT_EQ(thread.gil_time, is_main ? Nanos::FromMillis(99) : Nanos(0)) << "to the last thing that is known";
  }
  writer_.SetState(main, begin + Nanos::FromMillis(150),
                   {.state = ThreadState::kIdle, .holds_gil = false, .detail = {}});
  Pass();
  const SampleBatch second = batcher_.Take(Nanos(2));
  ASSERT_EQ(second.threads.size(), 1U);
  EXPECT_EQ(second.threads[0].gil_time, Nanos::FromMillis(51));
  EXPECT_FALSE(second.threads[0].holds_gil);
}

TEST_F(SampleBatcherTest, CountsWhatWasLost) {
  const ThreadHandle main = Thread(71, "MainThread");
  Sample(main, Stack({"f"}));
  Accounting accounting;
  accounting.lost = 3;
  accounting.missed = 4;
  accounting.actual_rate_hz = 321;
  accounting.collector_cpu = Nanos(1000);
  writer_.SetAccounting(accounting);
  Pass();
  const SampleBatch first = batcher_.Take(Nanos(1));
  EXPECT_EQ(first.counters.lost, 3U);
  EXPECT_EQ(first.counters.missed, 4U);
  EXPECT_EQ(first.counters.collector_cpu, Nanos(1000));
  EXPECT_DOUBLE_EQ(first.counters.actual_rate_hz, 321);
  accounting.lost = 5;
  ASSERT_TRUE(writer_.End(now_, accounting, {Code::kGone, "it ended", ""}).has_value());
  Pass();
  const SampleBatch second = batcher_.Take(Nanos(2));
  EXPECT_EQ(second.counters.lost, 2U);
  EXPECT_EQ(second.counters.missed, 0U);
  ASSERT_TRUE(batcher_.end().has_value());
  EXPECT_EQ(batcher_.end()->code, Code::kGone);
}

class SmallBatchTest : public SampleBatcherTest {
 protected:
  SmallBatchTest()
      : SampleBatcherTest(
            {.stacks = 10, .string_bytes = 1000, .thread_stacks = 8, .known_threads = 4, .known_processes = 2}) {}
};

TEST_F(SmallBatchTest, ThinsWhatDoesNotFit) {
  const ThreadHandle main = Thread(71, "MainThread");
  for (int i = 0; i < 100; ++i) {
    Sample(main, Stack({"f:" + std::to_string(i + 1)}), 2);
  }
  Sample(main, Stack({"f:1"}), 50);
  Pass();
  const SampleBatch batch = batcher_.Take(Nanos(1));
  uint64_t counted = 0;
  for (const auto& [text, count] : Counts(batch)) {
    counted += count;
  }
  EXPECT_LE(batch.stacks.size(), 10U);
  EXPECT_EQ(batch.threads.at(0).stacks.size(), 8U);
  EXPECT_EQ(counted, 2U * 8 + 50) << "what is known is still counted";
  EXPECT_EQ(batch.counters.samples, 250U);
  EXPECT_EQ(batch.counters.thinned, 250U - counted);

  Sample(main, Stack({"f:90"}));
  Pass();
  EXPECT_EQ(batcher_.Take(Nanos(2)).counters.thinned, 0U) << "the next batch has room again";
}

TEST_F(SmallBatchTest, LongNamesAreThinnedToo) {
  const ThreadHandle main = Thread(71, "MainThread");
  for (int i = 0; i < 8; ++i) {
    Sample(main, Stack({std::string(600, 'a') + static_cast<char>('a' + i)}));
  }
  Pass();
  const SampleBatch batch = batcher_.Take(Nanos(1));
  EXPECT_EQ(batch.strings.size(), 3U);
  EXPECT_EQ(batch.counters.thinned, 6U);
}

TEST_F(SmallBatchTest, ManyThreadsAreForgotten) {
  uint64_t thinned = 0;
  uint64_t counted = 0;
  for (int i = 0; i < 100; ++i) {
    const ThreadHandle thread = Thread(1000 + i, "t");
    Sample(thread, Stack({"f"}));
    writer_.EndThread(thread, now_);
    Pass();
    const SampleBatch batch = batcher_.Take(Nanos(i));
    thinned += batch.counters.thinned;
    counted += batch.counters.samples;
    EXPECT_LE(batch.threads.size(), 1U);
  }
  EXPECT_EQ(counted, 100U);
  EXPECT_EQ(thinned, 0U);
}

TEST_F(SmallBatchTest, ManyProcessesAreForgotten) {
  for (int i = 0; i < 50; ++i) {
    writer_.AddProcess({.pid = Pid(1000 + i % 25),
                        .ns_pid = {},
                        .parent_pid = Pid(71),
                        .name = "p",
                        .cmdline = {std::string(100'000, 'x')},
                        .python = "3.12.1",
                        .start_time = {}});
    Pass();
  }
  const SampleBatch batch = batcher_.Take(Nanos(1));
  EXPECT_LE(batch.processes.size(), 2U);
  EXPECT_LE(batch.processes.back().command.size(), 256U);
}

TEST(SampleBatch, DoubtsItsIndices) {
  SampleBatch batch;
  batch.strings = {"f"};
  batch.frames = {{.function = 0, .file = 0}};
  batch.stacks = {{.parent = 0, .frame = 0}, {.parent = 1, .frame = 0}};
  batch.threads.push_back({.pid = Pid(1), .tid = Tid(1), .name = "t", .stacks = {{2, 1}}});
  EXPECT_TRUE(batch.Valid());
  batch.threads[0].stacks[0].stack = 3;
  EXPECT_FALSE(batch.Valid());
  batch.threads.clear();
  batch.stacks[1].parent = 2;  // its own parent: a circle
  EXPECT_FALSE(batch.Valid());
  batch.stacks[1] = {.parent = 1, .frame = 1};
  EXPECT_FALSE(batch.Valid());
  batch.stacks.clear();
  batch.frames[0].file = 1;
  EXPECT_FALSE(batch.Valid());
}

}  // namespace
}  // namespace ptrace_prof
