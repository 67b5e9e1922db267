// The counters of counters.inc and gpu_counters.inc as tables, for code that encodes, adds up, shows or serves all
// counters without naming one.
//
// Plain data, known at compile time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "attach/base/types.h"
#include "daemon/trace/gpu.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

enum class CountedBy : uint8_t { kSampler, kTracer, kCollector, kGpuJoiner, kGpuCapture, kGpuAnnotations, kTorch };

// How a counter is combined for two captures or two processes.
enum class Together : uint8_t {
  kSum,
  kMost,
  kSame,     // 0 if they differ
  kUnknown,  // 0
};

// The part of the closing lines of `record` that shows it.
enum class ClosingPart : uint8_t { kNone, kSamples, kCalls, kTorch, kStops, kGpuWork, kGpuTimes, kGpuRecords };

// Left out if the counter is 0. The text has "{}" for the number.
struct Closing {
  ClosingPart part = ClosingPart::kNone;
  std::string_view text;
  std::string_view one = {};  // the noun after the number, if any
  std::string_view many = {};
};

// Empty or 0: the counter does not appear there.
struct CounterTraits {
  int totals = 0;  // its field of ptraceprof.v1.Totals
  Together together = Together::kSum;
  std::string_view fact = {};     // its name among the facts of an export; like all that follow, for counts only
  std::string_view drop = {};     // its kind in the metric ptrace_prof_dropped_total; several may share one
  std::string_view caution = {};  // the sentence in an export; left out if the count is 0
  Closing closing = {};
};

template <typename Totals>
struct Counter {
  std::string_view name;
  int field;  // of the message in extension.proto
  CountedBy by;
  std::variant<uint64_t Totals::*, Nanos Totals::*, double Totals::*> member;
  CounterTraits traits;

  // 0 for times and rates.
  constexpr uint64_t CountIn(const Totals& totals) const {
    const auto* count = std::get_if<uint64_t Totals::*>(&member);
    return count != nullptr ? totals.**count : 0;
  }
};

#define PP_COUNTER(name, field, by, ...) {#name, field, CountedBy::by, &Accounting::name, {__VA_ARGS__}},
#define PP_COUNT PP_COUNTER
#define PP_TIME PP_COUNTER
#define PP_RATE PP_COUNTER
inline constexpr Counter<Accounting> kCounters[] = {
#include "daemon/trace/counters.inc"
};
#undef PP_COUNTER
#define PP_COUNT(name, field, by, ...) {#name, field, CountedBy::by, &GpuAccounting::name, {__VA_ARGS__}},
inline constexpr Counter<GpuAccounting> kGpuCounters[] = {
#include "daemon/trace/gpu_counters.inc"
};

constexpr std::span<const Counter<Accounting>> CountersOf(const Accounting&) { return kCounters; }
constexpr std::span<const Counter<GpuAccounting>> CountersOf(const GpuAccounting&) { return kGpuCounters; }

// Copies to `to` the counters that `by` counts.
template <typename Totals>
void TakeCounters(CountedBy by, const Totals& from, Totals& to) {
  for (const auto& counter : CountersOf(from)) {
    if (counter.by == by) {
      std::visit([&](auto member) { to.*member = from.*member; }, counter.member);
    }
  }
}

}  // namespace ptrace_prof
