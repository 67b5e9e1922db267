#include "client/cli/record/totals_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "daemon/export/number_text.h"
#include "daemon/trace/counters.h"

namespace ptrace_prof {
namespace {

struct QualityCount {
  SampleQuality quality;
  const char* word;
  bool always;  // shown even if the count is 0
};
constexpr Nanos kWorthReporting = Nanos::FromMillis(100);
constexpr QualityCount kQualityWords[] = {
    {SampleQuality::kTruncated, "truncated", true},
    {SampleQuality::kTooDeep, "too deep", false},
    {SampleQuality::kTorn, "torn", false},
    {SampleQuality::kStaleNames, "with names gone", false},
    {SampleQuality::kFormerlyUnverified, "unverified", false},
};

uint64_t Of(const Accounting& totals, SampleQuality quality) { return totals.by_quality[static_cast<size_t>(quality)]; }

double Overhead(const Accounting& totals) {
  return totals.wall.value > 0 ? 100 * totals.collector_cpu.seconds() / totals.wall.seconds() : 0;
}

std::string Things(uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", Grouped(count), count == 1 ? one : many);
}

double StoppedShare(const Accounting& totals) {
  return totals.wall.value > 0 ? 100 * totals.stopped_total.seconds() / totals.wall.seconds() : 0;
}

// The text for those counters of one part that are not 0.
template <typename Totals>
std::string ClosingsOf(ClosingPart part, const Totals& totals) {
  std::string text;
  for (const auto& counter : CountersOf(totals)) {
    const Closing& closing = counter.traits.closing;
    if (const uint64_t count = counter.CountIn(totals); closing.part == part && count > 0) {
      text += fmt::format(fmt::runtime(closing.text),
                          closing.one.empty() ? Grouped(count) : Things(count, closing.one, closing.many));
    }
  }
  return text;
}

std::string Cost(const Accounting& totals) {
  const Accounting& t = totals;
  const double sampling = t.wall.value > 0 ? 100 * (t.collector_cpu - t.starting_cpu).seconds() / t.wall.seconds() : 0;
  std::string text = fmt::format("\n  overhead {:.2f} % of one core", sampling);
  if (totals.starting_cpu.value > 0) {
    text += fmt::format(" (plus {:.2f} s of CPU at the start)", totals.starting_cpu.seconds());
  }
  if (totals.stops == 1) {
    text += fmt::format("; 1 brief stop of {:.0f} us", totals.stopped_total.seconds() * 1e6);
  } else if (totals.stops > 1) {
    text += fmt::format("; {} brief stops", Grouped(totals.stops));
    if (totals.stopped_median.value > 0) {
      text += fmt::format(" of {:.0f} us (median; 90th percentile {:.0f} us, longest {:.0f} us), {:.2f} % of the time",
                          totals.stopped_median.seconds() * 1e6, totals.stopped_p90.seconds() * 1e6,
                          totals.stopped_longest.seconds() * 1e6, StoppedShare(totals));
    } else {  // a tracer makes too few stops for quantiles
      text += fmt::format(" of {:.0f} us on average",
                          totals.stopped_total.seconds() * 1e6 / static_cast<double>(totals.stops));
      if (totals.stopped_longest.value > 0) {
        text += fmt::format(", longest {:.0f} us", totals.stopped_longest.seconds() * 1e6);
      }
    }
  }
  return text + ClosingsOf(ClosingPart::kStops, totals);
}

// What tracing cost the process, as far as it was measured there. Lost events cost time too.
std::string CostOfEvents(const Accounting& totals) {
  if (totals.event_cost_ns <= 0 || totals.wall.value <= 0) {
    return "";
  }
  const auto events = static_cast<double>(totals.call_events + totals.call_events_lost);
  const double share = events * totals.event_cost_ns / static_cast<double>(totals.wall.value);
  return fmt::format("\n  cost of tracing in the process: at least {:.0f} ns per event, {:.1f} % of one core",
                     totals.event_cost_ns, 100 * share);
}

// How long the process waited for room in the buffer (--on-full throttle).
std::string Held(const Accounting& totals) {
  if (totals.holds == 0) {
    return "";
  }
  const double share = totals.wall.value > 0 ? 100 * totals.held_total.seconds() / totals.wall.seconds() : 0;
  return fmt::format(", held back {} for {} in total ({:.1f} % of the time)", Things(totals.holds, "time", "times"),
                     DurationText(totals.held_total), share);
}

// PyTorch's, if any came.
std::string OperatorsLine(const Accounting& totals) {
  if (totals.operators + totals.operators_lost == 0) {
    return "";
  }
  std::string text = fmt::format("\n  {} of PyTorch", Things(totals.operators, "operator", "operators")) +
                     ClosingsOf(ClosingPart::kTorch, totals);
  if (totals.operator_cost_ns > 0 && totals.wall.value > 0) {
    const double share =
        static_cast<double>(totals.operators) * totals.operator_cost_ns / static_cast<double>(totals.wall.value);
    text +=
        fmt::format("\n  cost of their recording in the process: at least {:.0f} ns per operator, {:.1f} % of one core",
                    totals.operator_cost_ns, 100 * share);
  }
  return text;
}

std::string CallLines(const Accounting& totals) {
  std::string text =
      fmt::format("{} in {:.1f} s ({}, {})", Things(totals.call_events, "call or return", "calls and returns"),
                  totals.wall.seconds(), Things(totals.processes, "process", "processes"),
                  Things(totals.threads, "thread", "threads"));
  text += fmt::format("\n  lost {}", Grouped(totals.call_events_lost));
  if (totals.call_events_lost > 0) {
    text += fmt::format(" ({}) in {}", Percent(totals.call_events_lost, totals.call_events + totals.call_events_lost),
                        Things(totals.call_gaps, "gap", "gaps"));
  }
  text += fmt::format(", returns without a call {}", Grouped(totals.unmatched_ends));
  text += Held(totals);
  text += ClosingsOf(ClosingPart::kCalls, totals);
  for (const std::string& sentence : Sentences(totals.left_out)) {
    text += "\n  " + sentence;
  }
  if (totals.call_events + totals.call_events_lost == 0) {
    text +=
        "\n  no call began or ended during the recording: Python stayed in one function, or ran compiled code that "
        "reports no calls (Nuitka, Cython, C); --mode sample shows where the time goes";
  }
  text += OperatorsLine(totals);
  text += CostOfEvents(totals);
  text += Cost(totals);
  if (totals.call_events_lost > 0) {
    text +=
        "\n  hint: to lose fewer events, use a larger --buffer, a shorter --duration or no --c-calls; --on-full "
        "throttle pauses the threads instead";
  }
  return text;
}

std::string TimeText(uint64_t nanoseconds) { return DurationText(Nanos(static_cast<int64_t>(nanoseconds))); }

std::string TimeOf(Nanos elapsed, Nanos whole) {
  return whole.value <= 0 ? fmt::format("{:>4.0f} s", elapsed.seconds())
                          : fmt::format("{:>4.0f}/{:g} s", std::floor(elapsed.seconds()), whole.seconds());
}

// Comes last, so that a narrow terminal cuts it first.
std::string BarOf(Nanos elapsed, Nanos whole) {
  constexpr size_t kWidth = 20;
  if (whole.value <= 0) {
    return "";
  }
  const auto drawn = static_cast<size_t>(static_cast<double>(kWidth) * (elapsed.seconds() / whole.seconds()));
  return fmt::format("  [{:<{}}]", std::string(drawn, '#'), kWidth);
}

// The rates above which launches get no stack; older traces do not have them.
std::string RatesOf(const GpuAccounting& totals) {
  return totals.launch_rate == 0 ? ""
                                 : fmt::format(" (above {} per second and thread; graphs: {})",
                                               Grouped(totals.launch_rate), Grouped(totals.graph_rate));
}

}  // namespace

std::string GpuClosingLines(const GpuAccounting& totals) {
  if (totals.state == GpuCaptureState::kRefused) {
    return fmt::format("GPU of process {}: not recorded ({})", totals.pid.value, totals.message);
  }
  std::string text = fmt::format("GPU of process {}: {}, {}, {}, {}", totals.pid.value,
                                 Things(totals.kernels, "kernel", "kernels"), Things(totals.copies, "copy", "copies"),
                                 Things(totals.memsets, "memset", "memsets"), Things(totals.syncs, "wait", "waits"));
  text += fmt::format("\n  with a Python stack {}", Percent(totals.attributed(), totals.kernels));
  const struct {
    uint64_t count;
    const char* what;
  } rows[] = {{totals.attributed_launch, "taken at the launch"},
              {totals.attributed_sampled, "from a nearby sample"},
              {totals.attributed_backward, "from the thread that waits for autograd"}};
  for (const auto& row : rows) {
    if (row.count > 0) {
      text += fmt::format(" ({} {})", Percent(row.count, totals.kernels), row.what);
    }
  }
  // If record buffers had no room, the launch calls of these kernels may be lost too.
  const std::string_view least = totals.declined_buffers > 0 ? "at least " : "";
  text +=
      fmt::format("; launches {}{}, kernels lost {}{}", least, Grouped(totals.launches), least, Grouped(totals.unseen));
  for (const ClosingPart part : {ClosingPart::kGpuWork, ClosingPart::kGpuTimes, ClosingPart::kGpuRecords}) {
    text += ClosingsOf(part, totals);
  }
  if (totals.early_most_ns > 0) {
    text +=
        fmt::format("\n  kernels timed before their launch: by {} (median), {} (99th percentile), {} (maximum)",
                    TimeText(totals.early_median_ns), TimeText(totals.early_p99_ns), TimeText(totals.early_most_ns));
  }
  if (totals.uncovered_ns > 0) {
    text += fmt::format("\n  not recorded for {}", TimeText(totals.uncovered_ns));
  }
  if (totals.stacks_refused > 0 || totals.stacks_lost > 0) {
    text += fmt::format(
        "\n  stacks not taken at the launch: {} because launches came too fast{}, {} because the buffer was full",
        Grouped(totals.stacks_refused), RatesOf(totals), Grouped(totals.stacks_lost));
  }
  if (!totals.message.empty()) {
    text += "\n  " + totals.message;
  }
  return text;
}

std::string Grouped(uint64_t number) {
  std::string text;
  const std::string digits = std::to_string(number);
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) {
      text += ',';
    }
    text += digits[i];
  }
  return text;
}

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0 || part == 0 || part == whole) {
    return part != 0 && part == whole ? "100 %" : "0 %";
  }
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (share < 0.01) {
    return "<0.01 %";
  }
  if (share > 99.99) {
    return ">99.99 %";
  }
  return fmt::format("{:.{}f} %", share, share < 1 || share > 99 ? 2 : 1);
}

std::string LiveLine(v1::Mode mode, const Accounting& totals, Nanos elapsed, Nanos whole) {
  elapsed = whole.value > 0 ? std::min(elapsed, whole) : elapsed;
  const std::string time = TimeOf(elapsed, whole);
  const std::string bar = BarOf(elapsed, whole);
  if (mode == v1::MODE_TRACE) {
    const std::string steps = totals.steps > 0 ? fmt::format("  steps {}", Grouped(totals.steps)) : std::string();
    return fmt::format("{}  {} calls and returns{}  lost {}  overhead {:.1f} %{}", time, Grouped(totals.call_events),
                       steps, Grouped(totals.call_events_lost), Overhead(totals), bar);
  }
  return fmt::format("{}  {} samples  {:.0f} Hz  truncated {}  late {}  lost {}  overhead {:.1f} %{}", time,
                     Grouped(totals.samples), totals.actual_rate_hz,
                     Percent(Of(totals, SampleQuality::kTruncated), totals.samples), Grouped(totals.late),
                     Grouped(totals.lost), Overhead(totals), bar);
}

namespace {

// Why the rate fell, and how to lift the limit.
std::string_view LimitMet(const Accounting& totals) {
  switch (totals.limit) {
    case RateLimit::kCpu: return "the limit --max-overhead was reached; raise it or set it to off";
    case RateLimit::kStops: return "the limit --max-stopped was reached; raise it or set it to off";
    case RateLimit::kNone: break;
  }
  constexpr double kOwnFault = 60;  // percent of a core: at this load the collector itself was too slow
  return Overhead(totals) >= kOwnFault
             ? "the collector could not read that many stacks in time; record fewer threads or processes"
             : "the machine was busy, and the collector got too little CPU time";
}

}  // namespace

std::string ClosingLines(v1::Mode mode, const Accounting& totals) {
  if (mode == v1::MODE_TRACE) {
    return CallLines(totals);
  }
  std::string text =
      fmt::format("{} in {:.1f} s at {:.0f} Hz ({}, {})", Things(totals.samples, "sample", "samples"),
                  totals.wall.seconds(), totals.actual_rate_hz, Things(totals.processes, "process", "processes"),
                  Things(totals.threads, "thread", "threads"));
  std::string separator = "\n  ";
  for (const QualityCount& row : kQualityWords) {
    if (row.always || Of(totals, row.quality) > 0) {
      text += fmt::format("{}{} {}", separator, row.word, Percent(Of(totals, row.quality), totals.samples));
      separator = ", ";
    }
  }
  text += fmt::format("; sampling times late {}, missed {}; samples lost {}", Grouped(totals.late),
                      Grouped(totals.missed), Grouped(totals.lost));
  text += ClosingsOf(ClosingPart::kSamples, totals);
  text += OperatorsLine(totals);
  if (totals.stood_still >= kWorthReporting) {
    text += fmt::format("\n  the process was stopped for {:.1f} s (by a signal or a debugger, or frozen)",
                        totals.stood_still.seconds());
  }
  text += Cost(totals);
  if (const uint64_t torn = Of(totals, SampleQuality::kTorn); torn > 0) {
    text += fmt::format(
        "\n  {} of the stacks changed while they were read without a stop: shares of code that makes many calls can be "
        "wrong by tens of percent; leave --nonblocking out for accurate shares",
        Percent(torn, totals.samples));
  }
  if (totals.asked_rate_hz > 0 && totals.actual_rate_hz < 0.9 * totals.asked_rate_hz) {
    text += fmt::format("\n  the rate was {:.0f} Hz instead of {:.0f} Hz: {}", totals.actual_rate_hz,
                        totals.asked_rate_hz, LimitMet(totals));
  }
  return text;
}

}  // namespace ptrace_prof
