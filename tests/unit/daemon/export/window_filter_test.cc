// What is passed on of a stretch of time.
#include "daemon/export/window_filter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

class Lines : public TraceVisitor {
 public:
  void OnCallBegin(TrackId track, Nanos when, StackId stack, CallEntry entry, GeneratorId) override {
    Add(fmt::format("{}:{}({}{}", track.value, when.value, stack.value,
                    entry == CallEntry::kRunning ? " running" : ""));
  }
  void OnCallEnd(TrackId track, Nanos when, StackId stack, CallExit exit) override {
    Add(fmt::format("{}:{}){}{}", track.value, when.value, stack.value, exit == CallExit::kCut ? " cut" : ""));
  }
  void OnSample(TrackId, Nanos when, StackId, SampleQuality) override { Add(fmt::format("sample {}", when.value)); }
  void OnStep(TrackId, Nanos begin, Nanos, uint64_t) override { Add(fmt::format("step {}", begin.value)); }
  void OnOperator(TrackId, const Operator& one) override { Add(fmt::format("operator {}", one.begin.value)); }
  void OnAllocation(TrackId, const Allocation& one) override { Add(fmt::format("allocation {}", one.when.value)); }
  void OnCount(CounterId, Nanos when, int64_t) override { Add(fmt::format("count {}", when.value)); }
  std::string text;

 private:
  void Add(const std::string& line) { text += (text.empty() ? "" : ", ") + line; }
};

class WindowFilterTest : public testing::Test {
 public:
  void Begin(uint32_t track, int64_t when, uint32_t stack) {
    filter.OnCallBegin(TrackId(track), Nanos(when), StackId(stack), CallEntry::kCall, GeneratorId());
  }
  void End(uint32_t track, int64_t when, uint32_t stack) {
    filter.OnCallEnd(TrackId(track), Nanos(when), StackId(stack), CallExit::kReturn);
  }
  Lines lines;
  WindowFilter filter{{Nanos(10), Nanos(20)}, lines};
};

TEST_F(WindowFilterTest, CallsAreCutAtItsBorders) {
  Begin(0, 1, 1);
  Begin(0, 5, 2);
  End(0, 6, 2);
  Begin(0, 7, 3);
  Begin(0, 12, 4);
  End(0, 14, 4);
  End(0, 25, 3);
  Begin(0, 26, 5);
  EXPECT_EQ(lines.text, "0:10(1 running, 0:10(3 running, 0:12(4, 0:14)4, 0:20)3 cut, 0:20)1 cut");
  filter.Finish();
  EXPECT_EQ(lines.text, "0:10(1 running, 0:10(3 running, 0:12(4, 0:14)4, 0:20)3 cut, 0:20)1 cut");
}

TEST_F(WindowFilterTest, EachThreadForItself) {
  Begin(1, 3, 1);
  Begin(0, 12, 2);
  Begin(2, 21, 4);
  End(1, 15, 1);
  filter.Finish();  // nothing more is known of thread 0
  EXPECT_EQ(lines.text, "0:12(2, 1:10(1 running, 1:15)1, 0:20)2 cut");
}

TEST_F(WindowFilterTest, TheMomentAtItsEndBelongsToTheNext) {
  Begin(0, 10, 1);
  End(0, 20, 1);
  Begin(0, 20, 2);
  EXPECT_EQ(lines.text, "0:10(1, 0:20)1 cut");
}

TEST_F(WindowFilterTest, AnythingElseIsInItIfItBeginsThere) {
  for (const int64_t when : {9, 10, 19, 20}) {
    filter.OnSample(TrackId(0), Nanos(when), StackId(0), SampleQuality::kSeen);
    filter.OnStep(TrackId(0), Nanos(when), Nanos(when + 30), 1);
    filter.OnOperator(TrackId(0), {.begin = Nanos(when), .end = Nanos(when + 30)});
    filter.OnAllocation(TrackId(0), {.when = Nanos(when)});
    filter.OnCount(CounterId(0), Nanos(when), 1);
  }
  EXPECT_EQ(lines.text,
            "sample 10, step 10, operator 10, allocation 10, count 10, sample 19, step 19, operator 19, allocation 19, "
            "count 19");
}

}  // namespace
}  // namespace ptrace_prof
