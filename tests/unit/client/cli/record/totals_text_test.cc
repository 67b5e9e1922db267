#include "client/cli/record/totals_text.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

Accounting SomeTotals() {
  Accounting totals;
  totals.samples = 12'000;
  totals.by_quality = {11'997, 0, 3};
  totals.late = 4;
  totals.missed = 5;
  totals.lost = 6;
  totals.processes = 1;
  totals.threads = 3;
  totals.stops = 3;
  totals.stopped_total = Nanos(270'000);
  totals.stopped_longest = Nanos(110'000);
  totals.stopped_median = Nanos(80'000);
  totals.stopped_p90 = Nanos(100'000);
  totals.collector_cpu = Nanos::FromMillis(50);
  totals.wall = Nanos::FromSeconds(10);
  totals.asked_rate_hz = 400;
  totals.actual_rate_hz = 399.6;
  return totals;
}

TEST(TotalsText, ClosingLines) {
  EXPECT_EQ(ClosingLines(v1::MODE_SAMPLE, SomeTotals()),
            "12,000 samples in 10.0 s at 400 Hz (1 process, 3 threads)\n"
            "  truncated 0.03 %; sampling times late 4, missed 5; samples lost 6\n"
            "  overhead 0.50 % of one core; 3 brief stops of 80 us (median; 90th percentile 100 us, longest 110 us), "
            "0.00 % of the time");
}

TEST(TotalsText, WhatStopsDidIsReported) {
  Accounting totals = SomeTotals();
  totals.stopped_total = Nanos::FromMillis(50);
  totals.starting_cpu = Nanos::FromMillis(20);
  totals.refused_stops = 7;
  totals.interrupted_waits = 2;
  totals.by_quality[static_cast<size_t>(SampleQuality::kTorn)] = 1200;
  const std::string lines = ClosingLines(v1::MODE_SAMPLE, totals);
  EXPECT_NE(lines.find("overhead 0.30 % of one core (plus 0.02 s of CPU at the start)"), std::string::npos) << lines;
  EXPECT_NE(lines.find("0.50 % of the time"), std::string::npos) << lines;
  EXPECT_NE(lines.find("\n  7 stops refused"), std::string::npos) << lines;
  EXPECT_NE(lines.find("\n  2 system calls of the process interrupted"), std::string::npos) << lines;
  EXPECT_NE(lines.find("torn 10.0 %"), std::string::npos) << lines;
  EXPECT_NE(lines.find("leave --nonblocking out"), std::string::npos) << lines;
}

TEST(TotalsText, OneStopHasNoAverage) {
  Accounting totals = SomeTotals();
  totals.stops = 1;
  totals.stopped_total = totals.stopped_longest = Nanos(68'000);
  const std::string lines = ClosingLines(v1::MODE_SAMPLE, totals);
  EXPECT_TRUE(lines.ends_with("; 1 brief stop of 68 us")) << lines;
}

TEST(TotalsText, FewStopsHaveALongestOne) {
  Accounting totals = SomeTotals();
  totals.stopped_median = totals.stopped_p90 = Nanos();
  const std::string lines = ClosingLines(v1::MODE_TRACE, totals);
  EXPECT_NE(lines.find("; 3 brief stops of 90 us on average, longest 110 us"), std::string::npos) << lines;
}

TEST(TotalsText, NeverRoundsTroubleAway) {
  Accounting totals = SomeTotals();
  totals.samples = 10'000'000;
  totals.by_quality = {9'999'999, 0, 1};
  const std::string lines = ClosingLines(v1::MODE_SAMPLE, totals);
  EXPECT_NE(lines.find("truncated <0.01 %"), std::string::npos) << lines;
}

TEST(TotalsText, SaysWhichLimitWasMet) {
  Accounting totals = SomeTotals();
  EXPECT_EQ(ClosingLines(v1::MODE_SAMPLE, totals).find("instead of"), std::string::npos);
  totals.actual_rate_hz = 200;
  const std::pair<RateLimit, const char*> limits[] = {{RateLimit::kNone, "the machine was busy"},
                                                      {RateLimit::kCpu, "the limit --max-overhead was reached"},
                                                      {RateLimit::kStops, "the limit --max-stopped was reached"}};
  for (const auto& [limit, words] : limits) {
    totals.limit = limit;
    EXPECT_NE(
        ClosingLines(v1::MODE_SAMPLE, totals).find(std::string("the rate was 200 Hz instead of 400 Hz: ") + words),
        std::string::npos);
  }
  totals.limit = RateLimit::kNone;
  totals.collector_cpu = totals.starting_cpu + totals.wall;
  EXPECT_NE(ClosingLines(v1::MODE_SAMPLE, totals).find("the collector could not read that many stacks in time"),
            std::string::npos);
}

TEST(TotalsText, NamesRareQualitiesOnlyWhenThereAreSome) {
  Accounting totals = SomeTotals();
  EXPECT_EQ(ClosingLines(v1::MODE_SAMPLE, totals).find("too deep"), std::string::npos);
  totals.by_quality[static_cast<size_t>(SampleQuality::kTooDeep)] = 12;
  EXPECT_NE(ClosingLines(v1::MODE_SAMPLE, totals).find("too deep 0.10 %"), std::string::npos);
}

TEST(TotalsText, OfAGpu) {
  GpuAccounting totals;
  totals.pid = Pid(7);
  totals.state = GpuCaptureState::kRecording;
  totals.kernels = 1000;
  totals.copies = 1;
  totals.launches = 1002;
  totals.attributed_exact = 900;
  totals.attributed_backward = 100;
  totals.unseen = 2;
  totals.clock_violations = 1;
  EXPECT_EQ(
      GpuClosingLines(totals),
      "GPU of process 7: 1,000 kernels, 1 copy, 0 memsets, 0 waits\n"
      "  with a Python stack 100 % (10.0 % from the thread that waits for autograd); launches 1,002, kernels lost 2, "
      "1 before their launch");
  totals.attributed_exact = 0;
  totals.attributed_launch = 250;
  totals.attributed_sampled = 600;
  totals.stacks_refused = 7'500;
  totals.launch_rate = 200;
  totals.graph_rate = 20;
  EXPECT_EQ(GpuClosingLines(totals),
            "GPU of process 7: 1,000 kernels, 1 copy, 0 memsets, 0 waits\n"
            "  with a Python stack 95.0 % (25.0 % taken at the launch) (60.0 % from a nearby sample) (10.0 % from the "
            "thread that waits for autograd); launches 1,002, kernels lost 2, 1 before their launch\n"
            "  stacks not taken at the launch: 7,500 because launches came too fast (above 200 per second and thread; "
            "graphs: 20), 0 because the buffer was full");
  totals.dropped = 9;  // of any kind
  totals.captured = 7;
  totals.replays_unseen = 3;
  totals.declined_buffers = 4;
  totals.unknown_records = 5;
  EXPECT_NE(
      GpuClosingLines(totals).find("launches at least 1,002, kernels lost at least 2, 9 records dropped by CUPTI, "
                                   "7 captured into graphs, 3 graph replays without a recorded operation, "
                                   "1 before their launch, 4 times without a free buffer, "
                                   "5 records of unknown kinds\n"),
      std::string::npos)
      << GpuClosingLines(totals);
  totals.early_median_ns = 1'200;
  totals.early_p99_ns = 8'000;
  totals.early_most_ns = 2'500'000;
  totals.uncovered_ns = 310'000'000;
  EXPECT_NE(GpuClosingLines(totals).find(
                "\n  kernels timed before their launch: by 1 µs (median), 8 µs (99th percentile), 2.5 ms (maximum)"
                "\n  not recorded for 310.0 ms\n"),
            std::string::npos)
      << GpuClosingLines(totals);
  totals.state = GpuCaptureState::kRefused;
  totals.message = "no CUDA";
  EXPECT_EQ(GpuClosingLines(totals), "GPU of process 7: not recorded (no CUDA)");
}

TEST(TotalsText, OfNothing) {
  EXPECT_EQ(LiveLine(v1::MODE_SAMPLE, {}, Nanos()),
            "   0 s  0 samples  0 Hz  truncated 0 %  late 0  lost 0  overhead 0.0 %");
}

TEST(TotalsText, ABarWhereTheEndIsKnown) {
  const auto line = [](double elapsed) {
    return LiveLine(v1::MODE_SAMPLE, {}, Nanos::FromSeconds(elapsed), Nanos::FromSeconds(30));
  };
  EXPECT_EQ(line(12),
            "  12/30 s  0 samples  0 Hz  truncated 0 %  late 0  lost 0  overhead 0.0 %  [########            ]");
  EXPECT_TRUE(line(0).ends_with("[                    ]")) << line(0);
  EXPECT_TRUE(line(31).ends_with("[####################]")) << "it takes a moment to end";
  EXPECT_TRUE(line(31).starts_with("  30/30 s")) << line(31);
}

TEST(TotalsText, OfCalls) {
  Accounting totals;
  totals.call_events = 9'000;
  totals.call_events_lost = 1'000;
  totals.call_gaps = 1;
  totals.processes = 1;
  totals.threads = 2;
  totals.wall = Nanos::FromSeconds(2);
  EXPECT_EQ(LiveLine(v1::MODE_TRACE, totals, Nanos::FromSeconds(2)),
            "   2 s  9,000 calls and returns  lost 1,000  overhead 0.0 %");
  const std::string lines = ClosingLines(v1::MODE_TRACE, totals);
  EXPECT_NE(lines.find("9,000 calls and returns in 2.0 s (1 process, 2 threads)"), std::string::npos) << lines;
  EXPECT_NE(lines.find("lost 1,000 (10.0 %) in 1 gap, returns without a call 0"), std::string::npos) << lines;
  EXPECT_NE(lines.find("--buffer"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("outside"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("impossible"), std::string::npos) << lines;
  totals.nonsense = 3;
  EXPECT_NE(ClosingLines(v1::MODE_TRACE, totals).find("\n  discarded 3 impossible call records from the process"),
            std::string::npos);
  totals.steps = 2;
  totals.events_outside_steps = 4'000;
  EXPECT_EQ(LiveLine(v1::MODE_TRACE, totals, Nanos::FromSeconds(2)),
            "   2 s  9,000 calls and returns  steps 2  lost 1,000  overhead 0.0 %");
  EXPECT_NE(ClosingLines(v1::MODE_TRACE, totals).find(", outside of the recorded steps 4,000"), std::string::npos);
}

TEST(TotalsText, LostEventsCostTheProcessAsMuch) {
  Accounting totals;
  totals.wall = Nanos::FromSeconds(1);
  totals.event_cost_ns = 50;
  totals.call_events = 1'000'000;
  std::string lines = ClosingLines(v1::MODE_TRACE, totals);
  EXPECT_NE(lines.find("at least 50 ns per event, 5.0 % of one core"), std::string::npos) << lines;
  totals.call_events_lost = 3'000'000;
  lines = ClosingLines(v1::MODE_TRACE, totals);
  EXPECT_NE(lines.find("at least 50 ns per event, 20.0 % of one core"), std::string::npos) << lines;
}

TEST(TotalsText, OfTimeForWhichTheProcessWaited) {
  Accounting totals;
  totals.wall = Nanos::FromSeconds(2);
  EXPECT_EQ(ClosingLines(v1::MODE_TRACE, totals).find("held back"), std::string::npos);
  totals.holds = 1'200;
  totals.held_total = Nanos::FromMillis(250);
  const std::string lines = ClosingLines(v1::MODE_TRACE, totals);
  EXPECT_NE(lines.find(", held back 1,200 times for 250.0 ms in total (12.5 % of the time)\n"), std::string::npos)
      << lines;
  EXPECT_EQ(lines.find("hint"), std::string::npos) << lines;
}

TEST(TotalsText, OfWhatWasLeftOut) {
  Accounting totals;
  totals.left_out = {{LeftOutCause::kExcluded, "f", 1, 1'234, false}, {LeftOutCause::kFilter, "g", 7, 0, false}};
  const std::string lines = ClosingLines(v1::MODE_TRACE, totals);
  EXPECT_NE(lines.find("\n  --exclude 'f' left out 1 function (1,234 calls)\n"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("'g'"), std::string::npos) << lines;
}

}  // namespace
}  // namespace ptrace_prof
