// How samples become spans, which spans get the time that no sample covers, and how long runs are thinned out.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "daemon/export/span_feed.h"
#include "daemon/export/span_spool.h"
#include "daemon/export/span_thinner.h"

namespace ptrace_prof {
namespace {

constexpr TrackId kTrack{0};

class Collected : public SpanSink {
 public:
  void OnSpan(const Span& span) override { spans.push_back(span); }
  std::vector<Span> spans;
};

// A feed at 1 kHz with one thread.
struct Feeding {
  ExportOptions options;
  Recording recording;
  Collected collected;
  SpanFeed feed{options, recording};

  Feeding() {
    CaptureTask request;
    request.mutable_spec()->mutable_sample()->set_rate_hz(1000);
    feed.OnRequest(request);
    feed.OnThread(kTrack, {.pid = Pid(1), .tid = Tid(1)});
    feed.set_sink(&collected);
  }
  void Sample(int64_t ms, uint32_t stack) {
    feed.OnSample(kTrack, Nanos::FromMillis(ms), StackId(stack), SampleQuality::kSeen);
  }
  const std::vector<Span>& Finish() {
    feed.Finish();
    return collected.spans;
  }
};

TEST(SpanFeedTest, MergesEqualNeighboursAndClosesTheLastByOneInterval) {
  Feeding feeding;
  for (const auto& [ms, stack] : {std::pair(10, 1u), {11, 1u}, {12, 2u}, {13, 1u}}) {
    feeding.Sample(ms, stack);
  }
  const auto& spans = feeding.Finish();
  ASSERT_EQ(spans.size(), 3);
  EXPECT_EQ(spans[0].samples, 2);
  EXPECT_EQ(spans[0].start, Nanos::FromMillis(10));
  EXPECT_EQ(spans[0].end, Nanos::FromMillis(12));
  EXPECT_EQ(spans[2].end, Nanos::FromMillis(14));
}

TEST(SpanFeedTest, ALongGapBelongsToNobody) {
  Feeding feeding;
  feeding.Sample(10, 1);
  feeding.Sample(500, 1);
  const auto& spans = feeding.Finish();
  ASSERT_EQ(spans.size(), 2);
  EXPECT_EQ(spans[0].end, Nanos::FromMillis(11));
  EXPECT_EQ(spans[1].start, Nanos::FromMillis(500));
}

TEST(SpanFeedTest, FollowsTheRateThatTheAccountingReports) {
  Feeding feeding;
  Accounting accounting;
  feeding.feed.OnAccounting(accounting);
  accounting.rounds = 10;
  accounting.wall = Nanos::FromMillis(1000);  // backed off to 10 Hz
  feeding.feed.OnAccounting(accounting);
  feeding.Sample(0, 1);
  feeding.Sample(100, 2);
  const auto& spans = feeding.Finish();
  ASSERT_EQ(spans.size(), 2);
  EXPECT_EQ(spans[0].end, Nanos::FromMillis(100));
  EXPECT_EQ(spans[1].end, Nanos::FromMillis(200));
}

TEST(SpanFeedTest, StatesReportedAheadSplitSpans) {
  Feeding feeding;
  feeding.feed.OnState(kTrack, Nanos::FromMillis(0), {ThreadState::kRunning, false, ""});
  feeding.feed.OnState(kTrack, Nanos::FromMillis(12), {ThreadState::kIdle, false, ""});
  for (int ms = 10; ms < 14; ++ms) {
    feeding.Sample(ms, 1);
  }
  const auto& spans = feeding.Finish();
  ASSERT_EQ(spans.size(), 2);
  EXPECT_EQ(spans[0].state, ThreadState::kRunning);
  EXPECT_EQ(spans[1].state, ThreadState::kIdle);
  EXPECT_EQ(spans[1].samples, 2);
}

TEST(SpanFeedTest, TimeNeverGoesBackNorOverflows) {
  Feeding feeding;
  for (const int64_t when : {INT64_MAX, INT64_MIN, int64_t{5}, INT64_MAX}) {
    feeding.feed.OnSample(kTrack, Nanos(when), StackId(1), SampleQuality::kSeen);
  }
  Nanos at;
  for (const Span& span : feeding.Finish()) {
    EXPECT_GE(span.start, at);
    EXPECT_GE(span.end, span.start);
    at = span.end;
  }
  EXPECT_EQ(feeding.recording.samples, 4);
}

TEST(SpanSpoolTest, GivesBackEveryThreadInOrder) {
  SpanSpool spool("/tmp");
  for (uint32_t i = 0; i < 10'000; ++i) {
    spool.Append({.track = TrackId(i % 3), .start = Nanos(i), .end = Nanos(i + 1), .stack = StackId(i), .samples = 1});
  }
  for (uint32_t track = 0; track < 4; ++track) {
    uint32_t next = track;
    ASSERT_TRUE(spool
                    .ForEach(TrackId(track),
                             [&](const Span& span) {
                               EXPECT_EQ(span.stack.value, next);
                               next += 3;
                             })
                    .has_value());
    EXPECT_EQ(spool.SpansOf(TrackId(track)), (next - track) / 3);
  }
}

TEST(SpanSpoolTest, ReportsWhereItCouldNotWrite) {
  SpanSpool spool("/nonexistent");
  for (uint32_t i = 0; i < 1000; ++i) {
    spool.Append({.samples = 1});
  }
  const auto result = spool.ForEach(TrackId(0), [](const Span&) {});
  ASSERT_TRUE(result.has_error());
  EXPECT_NE(result.error().message.find("/nonexistent"), std::string::npos);
}

TEST(SpanThinnerTest, KeepsAllSamplesAndFairShares) {
  std::map<uint32_t, double> drawn;
  double all = 0;
  size_t spans = 0;
  SpanThinner thinner(Nanos(50), [&](const Span& span) {
    drawn[span.stack.value] += span.samples;
    all += span.samples;
    ++spans;
  });
  std::mt19937 random(7);
  std::map<uint32_t, double> added;
  for (int64_t at = 0; at < 2'000'000; ++at) {
    const uint32_t dice = random() % 10;
    const uint32_t stack = dice < 1 ? 1 : dice < 3 ? 2 : 3;  // 10, 20, 70 %
    thinner.Add({.start = Nanos(at), .end = Nanos(at + 1), .stack = StackId(stack), .samples = 1});
    added[stack] += 1;
  }
  thinner.Finish();
  EXPECT_EQ(all, 2'000'000);
  EXPECT_EQ(spans, 40'000);
  for (const auto& [stack, samples] : added) {
    EXPECT_NEAR(drawn[stack] / all, samples / all, 0.01) << stack;
  }
}

}  // namespace
}  // namespace ptrace_prof
