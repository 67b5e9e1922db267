#include "daemon/collect/clock_fit.h"

#include <algorithm>
#include <cmath>

namespace ptrace_prof {
namespace {

constexpr Nanos kApart = Nanos::FromMillis(50);  // with pairs that are sure to 100 ns, rates are to 2 in a million then
constexpr size_t kMost = 4096;
constexpr int64_t kStep = 1000;           // ns: differences smaller than this are how pairs differ anyway
constexpr long double kDrift = 0.000'2L;  // of the rate, from one line to the next: far more than oscillators do

}  // namespace

Nanos ClockFit::OnLine(const Reading& from, const Reading& to, uint64_t counted) {
  const long double rate = static_cast<long double>(to.monotonic.value - from.monotonic.value) /
                           static_cast<long double>(to.counted - from.counted);
  const long double since = static_cast<long double>(counted) - static_cast<long double>(from.counted);
  const long double when = static_cast<long double>(from.monotonic.value) + rate * since;
  constexpr int64_t kLast = int64_t{1} << 62;
  return Nanos(static_cast<int64_t>(std::clamp<long double>(std::round(when), -kLast, kLast)));
}

void ClockFit::Begin(const Reading& reading) {
  readings_.push_back(reading);
  readings_.back().is_first = true;
}

void ClockFit::Add(uint64_t counted, Nanos monotonic, Nanos width) {
  const Reading reading{counted, monotonic, width, false};
  if (monotonic.value < 0 || (!readings_.empty() && monotonic < readings_.back().monotonic)) {
    return;
  }
  if (readings_.empty()) {
    Begin(reading);
    return;
  }
  if (readings_.size() >= kMost) {
    readings_.erase(readings_.begin(), readings_.begin() + kMost / 2);
    readings_.front().is_first = true;
  }
  const Reading last = readings_.back();
  if (counted <= last.counted) {
    ++steps_;
    Begin(reading);
    return;
  }
  if (!last.is_first) {
    const Reading& before = readings_[readings_.size() - 2];
    const auto since = static_cast<long double>(monotonic.value - last.monotonic.value);
    const long double unsure = kStep + width.value + last.width.value + since * kDrift;
    const auto off = static_cast<long double>(OnLine(before, last, counted).value - monotonic.value);
    if (std::abs(off) > unsure) {
      ++steps_;
      Begin(reading);
      return;
    }
  }
  if (monotonic - last.monotonic >= kApart) {
    readings_.push_back(reading);
    ++lines_;
  }
}

Nanos ClockFit::ToMonotonic(uint64_t counted) const {
  // The last reading that is not after it. After the clock was set back that is the later one.
  size_t at = readings_.size();
  while (at > 0 && readings_[at - 1].counted > counted) {
    --at;
  }
  const size_t from = at > 0 ? at - 1 : 0;
  const auto leads_to = [&](size_t index) { return index < readings_.size() && !readings_[index].is_first; };
  if (leads_to(from + 1)) {
    return OnLine(readings_[from], readings_[from + 1], counted);
  }
  if (leads_to(from)) {
    return OnLine(readings_[from - 1], readings_[from], counted);
  }
  // Between a step and the first line after it: at the rate of the line before.
  for (size_t line = from; line > 0; --line) {
    if (leads_to(line)) {
      const Nanos as_before = OnLine(readings_[line - 1], readings_[line], counted);
      const Nanos then = OnLine(readings_[line - 1], readings_[line], readings_[from].counted);
      return readings_[from].monotonic + (as_before - then);
    }
  }
  return readings_.empty() ? Nanos() : readings_[from].monotonic;
}

}  // namespace ptrace_prof
