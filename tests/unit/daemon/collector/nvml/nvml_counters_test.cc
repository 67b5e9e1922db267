// Counters of GPUs: the helper program itself on the double of NVIDIA's library, and what a hostile helper could send.
#include "daemon/collector/nvml/nvml_counters.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "attach/base/sanitizers.h"
#include "daemon/trace/write/memory_sink.h"
#include "tests/unit/daemon/trace/recorder.h"

namespace ptrace_prof {
namespace {

constexpr int kPatienceMs = 20'000;

pp_nvml_record Record(pp_nvml_kind kind, uint16_t device, const char* text = "") {
  pp_nvml_record record{};
  record.magic = PP_NVML_MAGIC;
  record.kind = kind;
  record.device = device;
  record.when_ns = MonotonicNow().value;
  std::memcpy(record.text, text, std::min(std::strlen(text), sizeof record.text));
  return record;
}

pp_nvml_record Sample(uint16_t device, pp_nvml_counter counter, int64_t value) {
  pp_nvml_record record = Record(PP_NVML_SAMPLE, device);
  record.present = 1u << counter;
  record.values[counter] = value;
  return record;
}

// A trace of counters that are read from a pipe into which the test writes.
class Pipe {
 public:
  explicit Pipe(v1::GpuCounters asked = v1::GPU_COUNTERS_ON) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_.reset(ends[0]);
    write_.reset(ends[1]);
    counters_ = std::make_unique<NvmlCounters>(asked, read_.get());
  }
  void Say(const void* bytes, size_t size) {
    EXPECT_EQ(::write(write_.get(), bytes, size), static_cast<ssize_t>(size));
    counters_->Read(writer_);
  }
  void Say(const pp_nvml_record& record) { Say(&record, sizeof record); }
  // Writes a record, without reading the counters.
  void Leave(const pp_nvml_record& record) {
    EXPECT_EQ(::write(write_.get(), &record, sizeof record), ssize_t{sizeof record});
  }
  std::optional<int64_t> FreeOf(int pid, Nanos patience = Nanos()) {
    return counters_->FreeMemoryOf(Pid(pid), patience);
  }
  void Close() {
    write_.reset();
    counters_->Read(writer_);
  }
  ReadBack End() {
    EXPECT_TRUE(writer_.End(MonotonicNow(), {}, {}).has_value());
    return ReadBack(sink_.bytes());
  }

 private:
  UniqueFd read_, write_;
  MemorySink sink_;
  StackTable stacks_;
  TraceWriter writer_{sink_, stacks_, RequestFor(1), FixedOrigin()};
  std::unique_ptr<NvmlCounters> counters_;
};

TEST(NvmlCountersTest, RecordsInPiecesBecomeCounters) {
  Pipe pipe;
  const pp_nvml_record device = Record(PP_NVML_DEVICE, 3, "Model X");
  const auto* bytes = reinterpret_cast<const char*>(&device);
  pipe.Say(bytes, 7);
  pipe.Say(bytes + 7, sizeof device - 7);
  pipe.Say(Sample(3, PP_NVML_POWER, 250'000));
  pipe.Say(Sample(3, PP_NVML_POWER, 260'000));
  const ReadBack back = pipe.End();
  ASSERT_EQ(back.visitor.counters.size(), 1);
  EXPECT_EQ(back.visitor.counters[0].info, (CounterInfo{"GPU 3 (Model X)", "power", CounterUnit::kMilliwatts, 0}));
  ASSERT_EQ(back.visitor.counters[0].values.size(), 2);
  EXPECT_EQ(back.visitor.counters[0].values[1].second, 260'000);
  EXPECT_TRUE(back.visitor.notices.empty());
}

TEST(NvmlCountersTest, NumbersThatCannotBeAreLeftOutAndTimesGoForward) {
  Pipe pipe;
  pipe.Say(Record(PP_NVML_DEVICE, 0));
  pipe.Say(Sample(0, PP_NVML_UTILISATION, 101));
  pipe.Say(Sample(0, PP_NVML_MEMORY_USED, -1));
  pp_nvml_record future = Sample(0, PP_NVML_UTILISATION, 50);
  future.when_ns = INT64_MAX;
  pipe.Say(future);
  pp_nvml_record past = Sample(0, PP_NVML_UTILISATION, 60);
  past.when_ns = INT64_MIN;
  pipe.Say(past);
  const ReadBack back = pipe.End();
  ASSERT_EQ(back.visitor.counters.size(), 1);
  const auto& values = back.visitor.counters[0].values;
  ASSERT_EQ(values.size(), 2);
  EXPECT_LE(values[0].first, MonotonicNow().value);
  EXPECT_EQ(values[1].first, values[0].first);
  EXPECT_EQ(back.visitor.counters[0].info.group, "GPU 0");
}

TEST(NvmlCountersTest, NonsenseEndsTheReading) {
  pp_nvml_record bad_magic = Record(PP_NVML_DEVICE, 0);
  bad_magic.magic = 1;
  pp_nvml_record bad_kind = Record(PP_NVML_DEVICE, 0);
  bad_kind.kind = 77;
  const pp_nvml_record bad_device = Record(PP_NVML_DEVICE, PP_NVML_MOST_DEVICES);
  const pp_nvml_record unknown_device = Sample(0, PP_NVML_POWER, 1);
  for (const pp_nvml_record& record : {bad_magic, bad_kind, bad_device, unknown_device}) {
    Pipe pipe;
    pipe.Say(record);
    const ReadBack back = pipe.End();
    EXPECT_TRUE(back.visitor.counters.empty());
    ASSERT_EQ(back.visitor.notices.size(), 1);
    EXPECT_NE(back.visitor.notices[0].second.find("sent invalid data"), std::string::npos);
  }
}

pp_nvml_record DeviceOf(uint16_t device, int64_t memory) {
  pp_nvml_record record = Record(PP_NVML_DEVICE, device);
  record.values[0] = memory;
  return record;
}

pp_nvml_record ProcessOn(uint16_t device, int64_t pid) {
  pp_nvml_record record = Record(PP_NVML_PROCESS, device);
  record.values[0] = pid;
  return record;
}

TEST(NvmlCountersTest, FreeMemoryIsThatOfTheFullestGpuOfAProcess) {
  Pipe pipe(v1::GPU_COUNTERS_AUTO);
  for (uint16_t device = 0; device < 3; ++device) {
    pipe.Leave(DeviceOf(device, 1000));
    pipe.Leave(ProcessOn(device, 4700 + device));
  }
  pipe.Leave(ProcessOn(1, 4700));
  pipe.Leave(ProcessOn(1, INT64_MAX));
  EXPECT_EQ(pipe.FreeOf(4700), std::nullopt);  // the used memory is unknown
  const int64_t used[] = {100, 700, 900};
  for (uint16_t device = 0; device < 3; ++device) {
    pipe.Leave(Sample(device, PP_NVML_MEMORY_USED, used[device]));
  }
  EXPECT_EQ(pipe.FreeOf(4700), 300);
  EXPECT_EQ(pipe.FreeOf(4702), 100);
  EXPECT_EQ(pipe.FreeOf(1), std::nullopt);
}

TEST(NvmlCountersTest, WhatIsAskedForMemoryAloneAnswersOnceAndWritesNothing) {
  Pipe pipe(v1::GPU_COUNTERS_OFF);
  pipe.Leave(DeviceOf(0, 1000));
  pipe.Leave(ProcessOn(0, 4711));
  pipe.Leave(Sample(0, PP_NVML_MEMORY_USED, 400));
  EXPECT_EQ(pipe.FreeOf(4711), 600);
  pipe.Leave(Sample(0, PP_NVML_MEMORY_USED, 500));
  EXPECT_EQ(pipe.FreeOf(4711), 600);
  EXPECT_TRUE(pipe.End().visitor.counters.empty());
}

TEST(NvmlCountersTest, WaitsForAnAnswerAsLongAsReportedTo) {
  Pipe pipe;
  pipe.Leave(DeviceOf(0, 1000));
  const Nanos begin = MonotonicNow();
  EXPECT_EQ(pipe.FreeOf(4711, Nanos::FromMillis(30)), std::nullopt);
  EXPECT_GE(MonotonicNow() - begin, Nanos::FromMillis(30));
}

TEST(NvmlCountersTest, MemoryThatCannotBeIsNotKnown) {
  Pipe pipe;
  pipe.Leave(DeviceOf(0, -5));
  pipe.Leave(DeviceOf(1, 1000));
  pipe.Leave(ProcessOn(0, 4711));
  pipe.Leave(ProcessOn(1, 4712));
  pipe.Leave(Sample(0, PP_NVML_MEMORY_USED, 10));
  pipe.Leave(Sample(1, PP_NVML_MEMORY_USED, INT64_MIN));
  EXPECT_EQ(pipe.FreeOf(4711), std::nullopt);
  EXPECT_EQ(pipe.FreeOf(4712), std::nullopt);
  pipe.Leave(Sample(1, PP_NVML_MEMORY_USED, 1001));
  EXPECT_EQ(pipe.FreeOf(4712), std::nullopt);
  pipe.Leave(Sample(1, PP_NVML_MEMORY_USED, 1));
  EXPECT_EQ(pipe.FreeOf(4712), 999);
  pipe.Say(ProcessOn(2, 4713));  // of an unknown device
  const ReadBack back = pipe.End();
  ASSERT_EQ(back.visitor.notices.size(), 1);
  EXPECT_NE(back.visitor.notices[0].second.find("sent invalid data"), std::string::npos);
}

TEST(NvmlCountersTest, ARefusalIsReportedWhereCountersWereAskedForOnly) {
  for (const v1::GpuCounters asked : {v1::GPU_COUNTERS_ON, v1::GPU_COUNTERS_AUTO}) {
    Pipe pipe(asked);
    pipe.Say(Record(PP_NVML_REFUSED, 0, "there is \x1b none"));
    pipe.Close();
    const ReadBack back = pipe.End();
    ASSERT_EQ(back.visitor.notices.size(), asked == v1::GPU_COUNTERS_ON ? 1 : 0);
    if (asked == v1::GPU_COUNTERS_ON) {
      EXPECT_EQ(back.visitor.notices[0].second,
                "no GPU counters: there is \\x1b none (switch them off with --gpu-counters off)");
    }
  }
}

// The real helper program, on the double.
class Helper : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kIsSanitized) {
      GTEST_SKIP() << "the double of the library does not load into what has no sanitizer";
    }
    log_ = ::testing::TempDir() + "/fake_nvml_" + std::to_string(::getpid()) + ".log";
    ::unlink(log_.c_str());
    ::setenv("LD_LIBRARY_PATH", PP_FAKE_NVML_FOLDER, 1);
    ::setenv("PP_FAKE_NVML_LOG", log_.c_str(), 1);
  }
  void TearDown() override { ::unlink(log_.c_str()); }

  // Takes records of the helper until there are `count`, or until it ends.
  static std::vector<pp_nvml_record> Take(size_t count, const char* like) {
    ::setenv("PP_FAKE_NVML", like, 1);
    auto process = NvmlProcess::Start(100);
    EXPECT_TRUE(process.has_value());
    std::vector<pp_nvml_record> records;
    while (records.size() < count) {
      pollfd ready{process.value()->pipe(), POLLIN, 0};
      pp_nvml_record record;
      if (::poll(&ready, 1, kPatienceMs) <= 0 ||
          ::read(process.value()->pipe(), &record, sizeof record) != ssize_t{sizeof record}) {
        break;
      }
      records.push_back(record);
    }
    return records;
  }
  std::string Log() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string log_;
};

TEST_F(Helper, ReportsOfEachDeviceAndItsNumbers) {
  const auto records = Take(6, "");
  ASSERT_EQ(records.size(), 6);
  EXPECT_EQ(records[0].kind, PP_NVML_DEVICE);
  EXPECT_STREQ(records[1].text, "Model B");
  EXPECT_EQ(records[1].values[0], int64_t{80} << 30);
  EXPECT_EQ(records[2].kind, PP_NVML_SAMPLE);
  EXPECT_EQ(records[2].present, (1u << PP_NVML_COUNTERS) - 1);
  EXPECT_EQ(records[3].device, 1);
  const int64_t second[PP_NVML_COUNTERS] = {20, 1411, 2620, int64_t{8} << 30, 123457, 42};
  for (size_t i = 0; i < PP_NVML_COUNTERS; ++i) {
    EXPECT_EQ(records[3].values[i], second[i]) << i;
  }
  EXPECT_GE(records[4].when_ns, records[2].when_ns + 100'000'000);
  EXPECT_EQ(Log(), "init 0\nshutdown\n");  // it ended by itself, in an orderly way
}

TEST_F(Helper, ReportsWhoComputes) {
  const auto records = Take(5, "process=4711,free=100");
  ASSERT_EQ(records.size(), 5);
  EXPECT_EQ(records[2].kind, PP_NVML_PROCESS);
  EXPECT_EQ(records[2].device, 1);
  EXPECT_EQ(records[2].values[0], 4711);
  EXPECT_EQ(records[4].values[PP_NVML_MEMORY_USED], (int64_t{80} << 30) - (int64_t{100} << 20));
}

TEST_F(Helper, LeavesOutWhatADeviceDoesNotReport) {
  const auto records = Take(2, "mute,forbidden");
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].kind, PP_NVML_DEVICE);
  EXPECT_EQ(records[1].kind, PP_NVML_SAMPLE);
  EXPECT_EQ(records[1].present & (1u << PP_NVML_UTILISATION), 0);
}

TEST_F(Helper, SaysWhyThereIsNothing) {
  const std::map<const char*, const char*> cases = {
      {"init=9", "libnvidia-ml.so.1 cannot be initialised: Driver Not Loaded"},
      {"count=0", "libnvidia-ml.so.1 reports no GPU: there is none"}};
  for (const auto& [like, text] : cases) {
    const auto records = Take(9, like);
    ASSERT_EQ(records.size(), 1) << like;
    EXPECT_EQ(records[0].kind, PP_NVML_REFUSED);
    EXPECT_STREQ(records[0].text, text);
  }
  ::setenv("LD_LIBRARY_PATH", "/nowhere", 1);
  const auto records = Take(9, "");
  ASSERT_FALSE(records.empty());  // from the machine's own library, if there is one
  if (records[0].kind == PP_NVML_REFUSED) {
    EXPECT_EQ(std::string(records[0].text).rfind("libnvidia-ml.so.1", 0), 0);
  }
}

}  // namespace
}  // namespace ptrace_prof
