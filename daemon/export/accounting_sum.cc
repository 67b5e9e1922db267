#include "daemon/export/accounting_sum.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr size_t kMostLeftOut = 1000;  // of one file, however many traces it holds

constexpr uint64_t Accounting::*kCounts[] = {
    &Accounting::rounds,
    &Accounting::samples,
    &Accounting::idle_skipped,
    &Accounting::late,
    &Accounting::missed,
    &Accounting::lost,
    &Accounting::state_unknown,
    &Accounting::stale_code,
    &Accounting::stops,
    &Accounting::refused_stops,
    &Accounting::late_stops,
    &Accounting::interrupted_waits,
    &Accounting::holder_changes,
    &Accounting::missed_instants,
    &Accounting::read_calls,
    &Accounting::processes,
    &Accounting::threads,
    &Accounting::call_events,
    &Accounting::call_events_lost,
    &Accounting::call_gaps,
    &Accounting::holds,
    &Accounting::unmatched_ends,
    &Accounting::implied_ends,
    &Accounting::ends_of_excluded,
    &Accounting::calls_without_name,
    &Accounting::calls_too_deep,
    &Accounting::nonsense,
    &Accounting::calls_left_out,
    &Accounting::events_outside_steps,
    &Accounting::steps,
    &Accounting::children_not_traced,
    &Accounting::threads_displaced,
};
constexpr Nanos Accounting::*kTimes[] = {&Accounting::stopped_total, &Accounting::starting_cpu,
                                         &Accounting::collector_cpu, &Accounting::wall,
                                         &Accounting::held_total,    &Accounting::stood_still};

// Saturating: bytes of a trace may say anything.
uint64_t Plus(uint64_t a, uint64_t b) { return a + std::min(b, UINT64_MAX - a); }
Nanos Plus(Nanos a, Nanos b) {
  constexpr int64_t kMost = INT64_MAX / 2;
  return Nanos(std::clamp(a.value, -kMost, kMost) + std::clamp(b.value, -kMost, kMost));
}

double MeanRate(const Accounting& a, const Accounting& b) {
  const double wall = a.wall.seconds() + b.wall.seconds();
  return wall > 0 ? (a.actual_rate_hz * a.wall.seconds() + b.actual_rate_hz * b.wall.seconds()) / wall : 0;
}

}  // namespace

Accounting SumOf(const Accounting& a, const Accounting& b) {
  Accounting sum = a;
  for (const auto count : kCounts) {
    sum.*count = Plus(a.*count, b.*count);
  }
  for (const auto time : kTimes) {
    sum.*time = Plus(a.*time, b.*time);
  }
  for (size_t i = 0; i < kSampleQualityCount; ++i) {
    sum.by_quality[i] = Plus(a.by_quality[i], b.by_quality[i]);
  }
  sum.stopped_longest = std::max(a.stopped_longest, b.stopped_longest);
  sum.stopped_median = sum.stopped_p90 = Nanos();
  sum.actual_rate_hz = MeanRate(a, b);
  sum.asked_rate_hz = a.asked_rate_hz == b.asked_rate_hz ? a.asked_rate_hz : 0;
  sum.limit = a.limit == b.limit ? a.limit : RateLimit::kNone;
  sum.event_cost_ns = a.event_cost_ns == b.event_cost_ns ? a.event_cost_ns : 0;
  sum.c_event_cost_ns = a.c_event_cost_ns == b.c_event_cost_ns ? a.c_event_cost_ns : 0;
  const size_t room = kMostLeftOut - std::min(kMostLeftOut, a.left_out.size());
  sum.left_out.insert(sum.left_out.end(), b.left_out.begin(),
                      b.left_out.begin() + static_cast<ptrdiff_t>(std::min(room, b.left_out.size())));
  return sum;
}

}  // namespace ptrace_prof
