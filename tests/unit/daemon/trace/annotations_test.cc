// Annotations of a job through TraceWriter and back out of TraceReader, and on which lanes its ranges are.
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/nesting_lanes.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/trace/recorder.h"

namespace ptrace_prof {
namespace {

class AnnotationLog : public Recorder {
 public:
  void OnGpuAnnotation(TrackId track, const GpuAnnotation& one) override {
    EXPECT_EQ(threads[track].infos.back().tid.value, 11);
    seen.emplace_back(one.kind, one.begin.value - kTraceStart, one.end.value - kTraceStart, one.name, one.domain);
  }
  std::vector<std::tuple<GpuAnnotationKind, int64_t, int64_t, std::string, std::string>> seen;
};

TEST(TraceAnnotations, AllOfThemComeBack) {
  using Kind = GpuAnnotationKind;
  MemorySink sink;
  StackTable stacks;
  TraceWriter writer(sink, stacks, RequestFor(10), FixedOrigin());
  writer.AddProcess({.pid = Pid(10)});
  const ThreadHandle thread = writer.AddThread({.pid = Pid(10), .tid = Tid(11)});
  decltype(AnnotationLog::seen) said{{Kind::kRange, 20, 30, "inner", "domain"},
                                     {Kind::kMark, 25, 25, "mark", ""},
                                     {Kind::kRange, 10, 40, "outer", ""},
                                     {Kind::kRange, 35, 50, "across", "domain"},
                                     {Kind::kOpenRange, 5, 60, "outer", "another"}};
  for (const auto& [kind, begin, end, name, domain] : said) {
    writer.AddGpuAnnotation(thread, {kind, Nanos(kTraceStart + begin), Nanos(kTraceStart + end), name, domain});
  }
  ASSERT_TRUE(writer.End(Nanos(kTraceStart + 100), Accounting{}, EndInfo{}).has_value());
  AnnotationLog log;
  TraceReader reader(log);
  log.reader = &reader;
  ASSERT_TRUE(reader.Feed(std::as_bytes(std::span(sink.bytes()))).has_value());
  EXPECT_EQ(reader.skipped(), 0);
  EXPECT_EQ(log.seen, said);
}

TEST(NestingLanes, WhatOverlapsGoesElsewhere) {
  NestingLanes lanes(3);
  const auto add = [&](int64_t begin, int64_t end) { return lanes.Add(Nanos(begin), Nanos(end)); };
  EXPECT_EQ(add(10, 20), 0);
  EXPECT_EQ(add(20, 30), 0);  // next to it
  EXPECT_EQ(add(5, 35), 0);   // around both
  EXPECT_EQ(add(30, 40), 1);  // across the end of that
  EXPECT_EQ(add(38, 50), 0);
  EXPECT_EQ(add(39, 60), 2);
  EXPECT_EQ(add(45, 70), 1);
  EXPECT_EQ(add(49, 80), 2) << "the last takes what fits nowhere";
}

// Whatever ranges come, and however many are forgotten, two on a lane never overlap in part, except on the last lane.
TEST(NestingLanes, NoneButTheLastHasAnOverlap) {
  std::mt19937 random(7);
  NestingLanes lanes(4);
  std::vector<std::vector<std::pair<int64_t, int64_t>>> there(4);
  for (int64_t end = 0; end < 4000; ++end) {
    const int64_t begin = std::max<int64_t>(0, end - static_cast<int64_t>(random() % (random() % 10 == 0 ? 3000 : 4)));
    const size_t lane = lanes.Add(Nanos(begin), Nanos(end));
    for (const auto& [b, e] : there[lane]) {
      const bool is_apart = e <= begin || end <= b;
      const bool is_within = (b >= begin && e <= end) || (begin >= b && end <= e);
      ASSERT_TRUE(lane == 3 || is_apart || is_within) << begin << ' ' << end << " and " << b << ' ' << e;
    }
    there[lane].emplace_back(begin, end);
  }
  EXPECT_GT(there[0].size(), 2000);
}

}  // namespace
}  // namespace ptrace_prof
