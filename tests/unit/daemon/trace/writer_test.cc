// TraceWriter: its cost, its bounds, its failures.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <span>
#include <utility>

#include "attach/base/sanitizers.h"
#include "daemon/trace/read/trace_reader.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/trace/allocations.h"
#include "tests/unit/daemon/trace/recorder.h"

namespace ptrace_prof {
namespace {

class CountingSink : public ByteSink {
 public:
  Result<void> Write(std::span<const std::byte> bytes) override {
    total += bytes.size();
    largest = std::max(largest, bytes.size());
    return {};
  }
  uint64_t total = 0;
  size_t largest = 0;
};

// Passes what is written to a reader at once.
class ReadingSink : public ByteSink {
 public:
  explicit ReadingSink(TraceVisitor& visitor) : reader(visitor) {}
  Result<void> Write(std::span<const std::byte> bytes) override { return reader.Feed(bytes); }
  TraceReader reader;
};

class CountingVisitor : public TraceVisitor {
 public:
  void OnSample(TrackId, Nanos when, StackId, SampleQuality) override {
    ++samples;
    last = when;
  }
  uint64_t samples = 0;
  Nanos last;
};

StackId Chain(StackTable& stacks, uint32_t number, uint32_t depth) {
  StackId stack = kEmptyStack;
  for (uint32_t level = 0; level < depth; ++level) {
    Frame frame;
    frame.function = fmt::format("function_{}", (number * 7 + level) % 500);
    frame.file = "/srv/app/module.py";
    frame.line = static_cast<int32_t>(number % 50 + level);
    stack = stacks.InternStack(stack, stacks.InternFrame(frame));
  }
  return stack;
}

struct Target {
  explicit Target(ByteSink& sink, int thread_count) : writer(sink, stacks, RequestFor(1), FixedOrigin()) {
    ProcessInfo process;
    process.pid = Pid(1);
    writer.AddProcess(process);
    for (int i = 0; i < thread_count; ++i) {
      ThreadInfo info;
      info.pid = Pid(1);
      info.tid = Tid(1 + i);
      threads.push_back(writer.AddThread(info));
    }
  }
  void Round(const std::vector<StackId>& known, uint32_t number) {
    now += 2'000'000;
    for (size_t i = 0; i < threads.size(); ++i) {
      writer.AddSample(threads[i], Nanos(now), known[(number * 31 + i) % known.size()], SampleQuality::kSeen);
    }
  }

  StackTable stacks;
  TraceWriter writer;
  std::vector<ThreadHandle> threads;
  int64_t now = FixedOrigin().monotonic.value;
};

TEST(TraceWriter, SteadyStateDoesNotAllocate) {
  CountingSink sink;
  Target target(sink, 4);
  std::vector<StackId> known;
  for (uint32_t i = 0; i < 200; ++i) {
    known.push_back(Chain(target.stacks, i, 10));
  }
  const StateInfo states[] = {{ThreadState::kRunning, true, ""}, {ThreadState::kIdle, false, "epoll_wait"}};
  const auto second = [&](uint32_t base) {
    for (uint32_t i = 0; i < 500; ++i) {
      target.Round(known, base + i);
      target.writer.SetState(target.threads[i % 4], Nanos(target.now), states[i / 7 % 2]);
      if (i % 125 == 124) {
        static_cast<void>(target.writer.Flush());
      }
    }
  };
  for (uint32_t warm_up = 0; warm_up < 4; ++warm_up) {
    second(warm_up * 500);
  }
  const uint64_t before = Allocations();
  second(2000);
  EXPECT_EQ(Allocations(), before);
}

TEST(TraceWriter, ASampleOfAKnownStackTakesFiveBytes) {
  CountingSink sink;
  Target target(sink, 8);
  std::vector<StackId> known;
  for (uint32_t i = 0; i < 120; ++i) {
    known.push_back(Chain(target.stacks, i, 25));
  }
  for (uint32_t i = 0; i < 500 * 4; ++i) {
    target.Round(known, i);
    if (i % 125 == 124) {
      ASSERT_TRUE(target.writer.Flush().has_value());
    }
  }
  const uint64_t before = sink.total;
  for (uint32_t i = 0; i < 500 * 60; ++i) {
    target.Round(known, i);
    if (i % 125 == 124) {
      ASSERT_TRUE(target.writer.Flush().has_value());
    }
  }
  const double per_sample = static_cast<double>(sink.total - before) / (500 * 60 * 8);
  EXPECT_GT(per_sample, 5.0);  // two tags, an id below 128, a time below 16 ms
  EXPECT_LT(per_sample, 5.2);
  EXPECT_EQ(target.writer.bytes_written(), sink.total);
}

TEST(TraceWriter, DistinctStacksWithoutEndStayBounded) {
  CountingVisitor visitor;
  ReadingSink sink(visitor);
  Target target(sink, 2);
  uint64_t samples = 0;
  for (uint32_t round = 0; round < 400'000; ++round) {
    target.now += 2'000'000;
    for (const ThreadHandle thread : target.threads) {
      Frame frame;
      frame.function = "f";
      frame.line = static_cast<int32_t>(round);
      const StackId stack = target.stacks.InternStack(kEmptyStack, target.stacks.InternFrame(frame));
      target.writer.AddSample(thread, Nanos(target.now), stack, SampleQuality::kSeen);
      ++samples;
    }
    if (round % 125 == 124) {
      ASSERT_TRUE(target.writer.Flush().has_value());
      if (target.stacks.stack_count() > 100'000) {
        target.stacks.Clear();
      }
    }
  }
  ASSERT_TRUE(target.writer.Flush().has_value());
  EXPECT_EQ(visitor.samples, samples);
  EXPECT_EQ(sink.reader.skipped(), 0u);
}

// Sanitizers hold back freed memory, so growth means nothing there: always 0.
uint64_t ResidentBytes() {
  if (kIsSanitized) {
    return 0;
  }
  uint64_t total = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(TraceWriter, WriterAndReaderKeepTheirSizeOverALongRun) {
  CountingVisitor visitor;
  ReadingSink sink(visitor);
  Target target(sink, 8);
  std::vector<StackId> known;
  for (uint32_t i = 0; i < 3000; ++i) {
    known.push_back(Chain(target.stacks, i, 25));
  }
  const auto rounds = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      target.Round(known, i * 17);
      if (i % 125 == 124) {
        ASSERT_TRUE(target.writer.Flush().has_value());
      }
    }
  };
  rounds(25'000);
  const uint64_t before = ResidentBytes();
  rounds(500'000);  // a quarter of an hour of 500 Hz and 8 threads
  EXPECT_LT(ResidentBytes(), before + (2 << 20));
  EXPECT_EQ(visitor.samples, 525'000u * 8);
  EXPECT_EQ(visitor.last, Nanos(target.now));
  EXPECT_EQ(sink.reader.stacks().stack_count(), target.stacks.stack_count());
}

TEST(TraceWriter, ThreadsThatComeAndGoLeaveNothingBehind) {
  CountingVisitor visitor;
  ReadingSink sink(visitor);
  Target target(sink, 1);
  const StackId stack = Chain(target.stacks, 1, 5);
  const auto churn = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ThreadInfo info;
      info.pid = Pid(1);
      info.tid = Tid(100 + i % 1000);
      const ThreadHandle thread = target.writer.AddThread(info);
      EXPECT_LE(thread.value, 8u);
      target.now += 1'000'000;
      target.writer.AddSample(thread, Nanos(target.now), stack, SampleQuality::kSeen);
      target.writer.EndThread(thread, Nanos(target.now));
      if (i % 100 == 99) {
        ASSERT_TRUE(target.writer.Flush().has_value());
      }
    }
  };
  churn(2000);
  const uint64_t before = ResidentBytes();
  churn(50'000);
  EXPECT_LT(ResidentBytes(), before + (2 << 20));
  EXPECT_EQ(visitor.samples, 52'000u);
}

// Fails once, and would take what comes after that.
class FailingSink : public MemorySink {
 public:
  Result<void> Write(std::span<const std::byte> bytes) override {
    return std::exchange(fails, false) ? Error{Code::kCancelled, "the reader is gone", ""} : MemorySink::Write(bytes);
  }
  bool fails = false;
};

TEST(TraceWriter, ErrorsOfTheSinkStick) {
  FailingSink sink;
  Target target(sink, 1);
  ASSERT_TRUE(target.writer.Flush().has_value());
  const StackId stack = Chain(target.stacks, 1, 5);
  sink.fails = true;
  target.Round({stack}, 0);
  EXPECT_EQ(target.writer.Flush().error().code, Code::kCancelled);
  const size_t size = sink.bytes().size();
  ASSERT_FALSE(sink.fails);
  target.Round({stack}, 1);
  EXPECT_EQ(target.writer.Flush().error().code, Code::kCancelled);
  EXPECT_EQ(target.writer.End(Nanos(target.now), Accounting{}, EndInfo{}).error().code, Code::kCancelled);
  EXPECT_EQ(sink.bytes().size(), size);
}

TEST(TraceWriter, WritesInPiecesWhenStacksAreDeep) {
  CountingVisitor visitor;
  ReadingSink reading(visitor);
  Target target(reading, 1);
  for (uint32_t i = 0; i < 60; ++i) {
    target.Round({Chain(target.stacks, i, 4096)}, i);
  }
  ASSERT_TRUE(target.writer.Flush().has_value());
  EXPECT_EQ(visitor.samples, 60u);
  EXPECT_EQ(reading.reader.skipped(), 0u);
}

TEST(TraceWriter, LongNamesAreCutBetweenCharacters) {
  MemorySink sink;
  Target target(sink, 1);
  Frame frame;
  frame.function = "x";
  for (int i = 0; i < 50'000; ++i) {
    frame.function += "é";
  }
  target.Round({target.stacks.InternStack(kEmptyStack, target.stacks.InternFrame(frame))}, 0);
  ASSERT_TRUE(target.writer.Flush().has_value());
  ReadBack back(sink.bytes());
  const std::string& name = back.visitor.threads.at(TrackId(0)).samples.at(0).frames.at(0).function;
  EXPECT_LE(name.size(), 16u * 1024);
  EXPECT_EQ(name.size() % 2, 1u);
  EXPECT_EQ(name.substr(name.size() - 2), "é");
}

}  // namespace
}  // namespace ptrace_prof
