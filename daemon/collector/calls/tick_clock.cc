#include "daemon/collector/calls/tick_clock.h"

#include <cmath>
#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ptrace_prof {
namespace {

constexpr int kReadings = 8;  // an interrupt between the two readings widens the gap; the narrowest is used
constexpr Nanos kRough = Nanos::FromMillis(1);

uint64_t ReadCounter() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
}

}  // namespace

TickSource FitTickSource() {
#if defined(__x86_64__)
  std::ifstream clock("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  clock >> name;
  if (clock && name != "tsc" && name != "kvm-clock" && name.find("hyperv") == std::string::npos) {
    return TickSource::kMonotonic;  // the kernel rejected the counter
  }
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    if (line.starts_with("flags")) {
      line += ' ';
      return line.find(" constant_tsc ") != std::string::npos && line.find(" nonstop_tsc ") != std::string::npos
                 ? TickSource::kCounter
                 : TickSource::kMonotonic;
    }
  }
  return TickSource::kMonotonic;
#else
  return TickSource::kCounter;  // by architecture: one rate, never stops
#endif
}

uint64_t TickClock::Ticks() const {
  return source_ == TickSource::kCounter ? ReadCounter() : static_cast<uint64_t>(MonotonicNow().value);
}

ClockAnchor TickClock::TakeAnchor() const {
  if (source_ == TickSource::kMonotonic) {
    const Nanos now = MonotonicNow();
    return {static_cast<uint64_t>(now.value), now};
  }
  ClockAnchor best;
  uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < kReadings; ++i) {
    const uint64_t before = ReadCounter();
    const Nanos time = MonotonicNow();
    const uint64_t after = ReadCounter();
    if (after - before < narrowest) {
      narrowest = after - before;
      best = {before + narrowest / 2, time};
    }
  }
  return best;
}

uint64_t TickClock::TicksIn(Nanos time) {
  if (last_.ticks == 0) {
    AddAnchor();
  }
  if (first_.ticks == last_.ticks) {
    while (MonotonicNow() < first_.time + kRough) {
    }
    AddAnchor();
  }
  const double rate =
      static_cast<double>(last_.ticks - first_.ticks) / static_cast<double>((last_.time - first_.time).value);
  return static_cast<uint64_t>(rate * static_cast<double>(time.value));
}

void TickClock::AddAnchor(const ClockAnchor& anchor) {
  if (first_.ticks == 0) {
    first_ = previous_ = last_ = anchor;
  } else if (anchor.ticks > last_.ticks && anchor.time > last_.time) {
    previous_ = last_;
    last_ = anchor;
  }
}

Nanos TickClock::At(uint64_t ticks) const {
  if (last_.ticks == previous_.ticks) {
    return last_.time;
  }
  const double rate =
      static_cast<double>((last_.time - previous_.time).value) / static_cast<double>(last_.ticks - previous_.ticks);
  const auto since = static_cast<int64_t>(ticks - previous_.ticks);
  return previous_.time + Nanos(static_cast<int64_t>(static_cast<double>(since) * rate));
}

TickMap TickClock::Line() const {
  if (source_ == TickSource::kMonotonic) {
    return TickMap::Monotonic(last_.time);
  }
  const auto ticks = static_cast<double>(last_.ticks - previous_.ticks);
  const auto nanos = static_cast<double>((last_.time - previous_.time).value);
  const double rate = ticks > 0 ? nanos / ticks * static_cast<double>(uint64_t{1} << 32) : 0;
  return {.ticks = previous_.ticks, .at = previous_.time, .nanos_per_tick = static_cast<uint64_t>(std::llround(rate))};
}

}  // namespace ptrace_prof
