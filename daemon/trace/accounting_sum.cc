#include "daemon/trace/accounting_sum.h"

#include <algorithm>

#include "daemon/trace/counters.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostLeftOut = 1000;  // in one file, however many traces it holds

// Saturating, because the values in a trace are not trusted.
uint64_t Plus(uint64_t a, uint64_t b) { return a + std::min(b, UINT64_MAX - a); }
Nanos Plus(Nanos a, Nanos b) {
  constexpr int64_t kMost = INT64_MAX / 2;
  return Nanos(std::clamp(a.value, -kMost, kMost) + std::clamp(b.value, -kMost, kMost));
}

double Plus(double a, double b) { return a + b; }

template <typename Value>
Value Both(Together together, Value a, Value b) {
  switch (together) {
    case Together::kSum: return Plus(a, b);
    case Together::kMost: return std::max(a, b);
    case Together::kSame: return a == b ? a : Value();
    case Together::kUnknown: break;
  }
  return Value();
}

template <typename Totals>
Totals CountersTogether(const Totals& a, const Totals& b) {
  Totals sum = a;
  for (const auto& counter : CountersOf(sum)) {
    std::visit([&](auto member) { sum.*member = Both(counter.traits.together, a.*member, b.*member); }, counter.member);
  }
  return sum;
}

double MeanRate(const Accounting& a, const Accounting& b) {
  const double wall = a.wall.seconds() + b.wall.seconds();
  return wall > 0 ? (a.actual_rate_hz * a.wall.seconds() + b.actual_rate_hz * b.wall.seconds()) / wall : 0;
}

}  // namespace

Accounting SumOf(const Accounting& a, const Accounting& b) {
  Accounting sum = CountersTogether(a, b);
  for (size_t i = 0; i < kSampleQualityCount; ++i) {
    sum.by_quality[i] = Plus(a.by_quality[i], b.by_quality[i]);
  }
  sum.actual_rate_hz = MeanRate(a, b);
  sum.limit = a.limit == b.limit ? a.limit : RateLimit::kNone;
  const size_t room = kMostLeftOut - std::min(kMostLeftOut, a.left_out.size());
  sum.left_out.insert(sum.left_out.end(), b.left_out.begin(),
                      b.left_out.begin() + static_cast<ptrdiff_t>(std::min(room, b.left_out.size())));
  return sum;
}

GpuAccounting SumOf(const GpuAccounting& a, const GpuAccounting& b) { return CountersTogether(a, b); }

}  // namespace ptrace_prof
