#include "client/cli/record/trace_spooler.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {
namespace {

class VectorSink : public ByteSink {
 public:
  Result<void> Write(std::span<const std::byte> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return {};
  }
  std::vector<std::byte> bytes_;
};

std::vector<std::byte> TraceOf(int samples) {
  VectorSink sink;
  StackTable stacks;
  const StackId stack =
      stacks.InternStack(kEmptyStack, stacks.InternFrame({.function = "f", .file = "a.py", .line = 1}));
  TraceWriter writer(sink, stacks, CaptureTask());
  writer.AddProcess({.pid = Pid(70), .ns_pid = Pid(70), .name = "python3", .python = "3.11.7"});
  const ThreadHandle thread =
      writer.AddThread({.pid = Pid(70), .tid = Tid(70), .ns_tid = Tid(70), .name = "MainThread"});
  writer.AddNotice(Nanos(1), "it costs something");
  for (int i = 0; i < samples; ++i) {
    writer.AddSample(thread, Nanos(1'000'000 * (i + 1)), stack, SampleQuality::kSeen);
  }
  writer.AddNotice(Nanos(2), "something is not in it");
  Accounting totals;
  totals.samples = static_cast<uint64_t>(samples);
  totals.by_quality[0] = totals.samples;
  EXPECT_FALSE(writer.End(Nanos(1'000'000'000), totals, {}).has_error());
  return sink.bytes_;
}

// A capture that delivers its bytes piece by piece, then ends. In between it raises signals as a user would.
class FakeStream : public CaptureStream {
 public:
  explicit FakeStream(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  Result<Chunk> Read(std::span<std::byte> buffer, Nanos) override {
    if (interrupts_ > 0) {
      --interrupts_;
      ::raise(SIGINT);
      return Chunk{};
    }
    if (killed_ || at_ == bytes_.size() || (hangs_ && !stopped_)) {
      return Chunk{.size = 0, .ended = killed_ || at_ == bytes_.size()};
    }
    const size_t size = std::min({buffer.size(), size_t{7}, bytes_.size() - at_});
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), size, buffer.begin());
    at_ += size;
    return Chunk{.size = size};
  }
  void Stop() override { stopped_ = true; }
  void Kill() override { killed_ = true; }
  Result<void> Finish() override { return {}; }
  Pid command() const override { return command_; }
  void SignalCommand(int signal) override { forwarded_.push_back(signal); }
  Result<std::optional<int>> WaitCommand(Nanos) override { return std::optional<int>(0); }

  std::vector<std::byte> bytes_;
  size_t at_ = 0;
  int interrupts_ = 0;
  bool hangs_ = false;
  bool stopped_ = false;
  bool killed_ = false;
  Pid command_;
  std::vector<int> forwarded_;
};

class TraceSpoolerTest : public testing::Test {
 protected:
  ~TraceSpoolerTest() override { std::filesystem::remove_all(folder_); }

  static std::string MakeFolder() {
    char name[] = "/tmp/spooler-test-XXXXXX";
    return ::mkdtemp(name);
  }
  std::string folder_ = MakeFolder();
  SpoolFile spool_ = SpoolFile::Create(folder_ + "/x").value();
  Progress progress_{Progress::Style::kSilent, v1::MODE_SAMPLE, Nanos(), ""};
  std::vector<std::string> reported_;
  std::function<void(std::string_view)> report_ = [this](std::string_view notice) { reported_.emplace_back(notice); };
};

TEST_F(TraceSpoolerTest, SpoolsEverything) {
  FakeStream stream(TraceOf(100));
  Interrupts interrupts(Interrupts::Mode::kAlone);
  TraceSpooler spooler(stream, spool_, interrupts, progress_, report_);
  spooler.Run();
  EXPECT_EQ(spool_.size(), stream.bytes_.size());
  EXPECT_EQ(spooler.meter().Totals().samples, 100U);
  EXPECT_TRUE(spooler.meter().end().has_value());
  EXPECT_FALSE(spooler.aborted());
  EXPECT_FALSE(spooler.collector_error().has_value());
  EXPECT_FALSE(stream.stopped_);
  EXPECT_EQ(reported_, (std::vector<std::string>{"it costs something", "something is not in it"}));
}

TEST_F(TraceSpoolerTest, FirstInterruptStopsAndTakesTheRest) {
  FakeStream stream(TraceOf(100));
  stream.hangs_ = true;
  stream.interrupts_ = 1;
  Interrupts interrupts(Interrupts::Mode::kAlone);
  TraceSpooler spooler(stream, spool_, interrupts, progress_, report_);
  spooler.Run();
  EXPECT_TRUE(stream.stopped_);
  EXPECT_FALSE(stream.killed_);
  EXPECT_EQ(spool_.size(), stream.bytes_.size());
}

TEST_F(TraceSpoolerTest, SecondInterruptAborts) {
  FakeStream stream(TraceOf(100));
  stream.interrupts_ = 2;
  Interrupts interrupts(Interrupts::Mode::kAlone);
  TraceSpooler spooler(stream, spool_, interrupts, progress_, report_);
  spooler.Run();
  EXPECT_TRUE(stream.killed_);
  EXPECT_TRUE(spooler.aborted());
}

TEST_F(TraceSpoolerTest, CommandGetsTheFirstInterruptToItself) {
  FakeStream stream(TraceOf(100));
  stream.interrupts_ = 1;
  stream.command_ = Pid(71);
  Interrupts interrupts(Interrupts::Mode::kWithCommand);
  TraceSpooler spooler(stream, spool_, interrupts, progress_, report_);
  spooler.Run();
  EXPECT_FALSE(stream.stopped_);
  EXPECT_EQ(stream.forwarded_, std::vector<int>{SIGINT}) << "raise() is not the terminal: the command did not get it";
  EXPECT_EQ(spool_.size(), stream.bytes_.size());
}

TEST_F(TraceSpoolerTest, WhatIsNoTraceIsAnError) {
  FakeStream stream(std::vector<std::byte>(1000, std::byte{0xff}));
  Interrupts interrupts(Interrupts::Mode::kAlone);
  TraceSpooler spooler(stream, spool_, interrupts, progress_, report_);
  spooler.Run();
  ASSERT_TRUE(spooler.collector_error().has_value());
  EXPECT_EQ(spooler.collector_error()->code, Code::kDataLoss);
  EXPECT_TRUE(stream.stopped_);
}

TEST_F(TraceSpoolerTest, CutTraceCountsWhatArrived) {
  std::vector<std::byte> bytes = TraceOf(100);
  bytes.erase(bytes.end() - 20, bytes.end());
  FakeStream stream(bytes);
  Interrupts interrupts(Interrupts::Mode::kAlone);
  TraceSpooler spooler(stream, spool_, interrupts, progress_, report_);
  spooler.Run();
  EXPECT_EQ(spooler.meter().Totals().samples, 100U);
  EXPECT_FALSE(spooler.meter().end().has_value());
}

}  // namespace
}  // namespace ptrace_prof
