#include "daemon/collect/pacer.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr Nanos kGovernEvery = Nanos::FromMillis(200);
constexpr Nanos kLongestNap = Nanos::FromMillis(100);
constexpr double kMaxSlowdown = 100;
// Opening the target and meeting all its code for the first time costs more than the rest and does not come again.
constexpr Nanos kLearning = Nanos::FromMillis(500);
// At the rate `max`: a round that took long is made up for, so that its place is not sampled less for it, unless that
// was so many rounds ago. The room between two rounds lets that happen soon.
constexpr int64_t kMakeUpFor = RoundTimes::kStretch;
constexpr double kRoom = 1.25;  // with 1.1, code of many calls was sampled 1.8 % too seldom; with 1.25, 1.0 %
constexpr uint32_t kUsualEvery = 1024;

}  // namespace

Pacer::Pacer(double rate_hz, double max_overhead)
    : mean_ns_(rate_hz > 0 ? 1e9 / rate_hz : 0),
      max_overhead_(max_overhead),
      deadline_(MonotonicNow()),
      begin_(deadline_),
      governed_(deadline_),
      cpu_at_govern_(OwnCpuTime()),
      random_(static_cast<uint64_t>(deadline_.value) * 2 + 1),
      began_(deadline_) {
  prctl(PR_SET_TIMERSLACK, 1000);  // the default of 50 us would show at high rates
}

double Pacer::actual_rate_hz() const { return mean_ns_ > 0 ? 1e9 / (mean_ns_ * slowdown_) : 0; }

double Pacer::Jitter() {
  random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return 0.5 + static_cast<double>(random_ >> 11) * 0x1p-53;
}

Nanos Pacer::NextInterval() { return Nanos(static_cast<int64_t>(mean_ns_ * slowdown_ * Jitter())); }

Nanos Pacer::WaitLittle(Nanos now, Nanos until) {
  rounds_.Add(now - began_);
  if (++rounds_since_usual_ == kUsualEvery) {
    usual_ = rounds_.Usual();
    rounds_since_usual_ = 0;
  }
  const Nanos interval(static_cast<int64_t>(static_cast<double>(usual_.value) * kRoom * (0.5 + Jitter() / 2)));
  deadline_ = std::max(deadline_ + interval, now - Nanos(usual_.value * kMakeUpFor));
  const Nanos wake = std::min(deadline_, until);
  while (now < wake) {  // a sleep takes longer than a round
    now = MonotonicNow();
  }
  began_ = now;
  return now;
}

void Pacer::Govern(Nanos now) {
  if (max_overhead_ <= 0 || now - governed_ < kGovernEvery) {
    return;
  }
  const Nanos cpu = OwnCpuTime();
  if (now - begin_ >= kLearning) {
    const double recent = (cpu - cpu_at_govern_).seconds() / (now - governed_).seconds();
    slowdown_ = std::clamp(slowdown_ * std::clamp(recent / max_overhead_, 0.7, 2.0), 1.0, kMaxSlowdown);
  }
  governed_ = now;
  cpu_at_govern_ = cpu;
}

Nanos Pacer::Wait(Nanos until, const std::atomic<bool>& stop) {
  Nanos now = MonotonicNow();
  if (mean_ns_ <= 0) {
    return WaitLittle(now, until);
  }
  Govern(now);
  deadline_ = deadline_ + NextInterval();
  const auto mean = static_cast<int64_t>(mean_ns_ * slowdown_);
  if (const int64_t behind = (now - deadline_).value; behind > mean) {
    ++late_;
    missed_ += static_cast<uint64_t>(behind / mean);
    deadline_ = now;
  }
  const Nanos wake = std::min(deadline_, until);
  while (now < wake && !stop.load(std::memory_order_relaxed)) {
    const Nanos nap = std::min(wake, now + kLongestNap);
    const timespec ts{.tv_sec = nap.value / 1'000'000'000, .tv_nsec = nap.value % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr);
    now = MonotonicNow();
  }
  return now;
}

}  // namespace ptrace_prof
