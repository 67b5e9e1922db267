#include "daemon/collector/sample/pacer.h"

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cmath>

namespace ptrace_prof {
namespace {

constexpr Nanos kGovernEvery = Nanos::FromMillis(200);
constexpr Nanos kLongestNap = Nanos::FromMillis(100);
constexpr double kMaxSlowdown = 100;
constexpr Nanos kLateRound = Nanos(200'000);
constexpr double kRecent = 3;  // seconds for which one long stop among many short ones counts
// Opening the target and reading all its code for the first time costs more than the rest and happens once.
constexpr Nanos kLearning = Nanos::FromMillis(500);
// At the rate `max` a long round is made up for, so that its code is not sampled less often, unless it was more than so
// many rounds ago. The slack between two rounds (kRoom) lets that happen soon.
constexpr int64_t kMakeUpFor = RoundTimes::kStretch;
constexpr double kRoom = 1.25;  // with 1.1, code of many calls was sampled 1.8 % too seldom; with 1.25, 1.0 %
constexpr uint32_t kUsualEvery = 1024;

}  // namespace

Pacer::Pacer(double rate_hz, const Limits& limits)
    : mean_ns_(rate_hz > 0 ? 1e9 / rate_hz : 0),
      limits_(limits),
      deadline_(MonotonicNow()),
      begin_(deadline_),
      governed_(deadline_),
      cpu_at_govern_(OwnCpuTime()),
      random_(static_cast<uint64_t>(deadline_.value) * 2 + 1),
      began_(deadline_) {
  prctl(PR_SET_TIMERSLACK, 1000);  // the default of 50 us would matter at high rates
}

double Pacer::Jitter() {
  random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return 0.5 + static_cast<double>(random_ >> 11) * 0x1p-53;
}

Nanos Pacer::Interval() { return Nanos(static_cast<int64_t>(mean_ns_ * slowdown_ * Jitter())); }

Nanos Pacer::First(Nanos now) {
  return mean_ns_ > 0 ? now + Nanos(static_cast<int64_t>(mean_ns_ * (Jitter() - 0.5))) : now;
}

Nanos Pacer::Next(Nanos instant, Nanos now) {
  ++instants_;
  if (mean_ns_ <= 0) {
    return now;
  }
  const Nanos behind = now - instant;
  late_ += behind > kLateRound ? 1 : 0;
  const Nanos next = instant + Interval();
  if (next > now) {
    between_ = between_ + (next - instant);
    return next;
  }
  const auto mean = static_cast<int64_t>(mean_ns_ * slowdown_);
  missed_ += static_cast<uint64_t>(std::max<int64_t>((now - next).value / mean, 0)) + 1;
  const Nanos anew = now + Interval();
  between_ = between_ + (anew - instant);
  return anew;
}

double Pacer::rate_hz(Nanos now) const {
  const double seconds = mean_ns_ > 0 ? between_.seconds() : (now - begin_).seconds();
  return seconds > 0 ? static_cast<double>(mean_ns_ > 0 ? instants_ : turns_) / seconds : 0;
}

Nanos Pacer::WaitLittle(Nanos now, Nanos until) {
  ++turns_;
  rounds_.Add(now - began_);
  if (++rounds_since_usual_ == kUsualEvery) {
    usual_ = rounds_.Usual();
    rounds_since_usual_ = 0;
  }
  const Nanos interval(static_cast<int64_t>(static_cast<double>(usual_.value) * kRoom * (0.5 + Jitter() / 2)));
  deadline_ = std::max(deadline_ + interval, now - Nanos(usual_.value * kMakeUpFor));
  const Nanos wake = std::min(deadline_, until);
  while (now < wake) {  // spins: a sleep takes longer than a round
    now = MonotonicNow();
  }
  began_ = now;
  return now;
}

void Pacer::Recent::Add(double seconds, double stopped) {
  const double keep = std::exp(-seconds / kRecent);
  seconds_ = seconds_ * keep + seconds;
  stopped_ = stopped_ * keep + stopped;
}

void Pacer::Govern(Nanos now, Nanos stopped) {
  if (now - governed_ < kGovernEvery) {
    return;
  }
  const Nanos cpu = OwnCpuTime();
  const double seconds = (now - governed_).seconds();
  if (limits_.overhead > 0 && now - begin_ >= kLearning) {
    const double excess = (cpu - cpu_at_govern_).seconds() / seconds / limits_.overhead;
    slowdown_for_cpu_ = std::clamp(slowdown_for_cpu_ * std::clamp(excess, 0.7, 2.0), 1.0, kMaxSlowdown);
  }
  if (limits_.stopped > 0) {
    const uint32_t sharers = limits_.sharers == nullptr ? 1 : std::max<uint32_t>(*limits_.sharers, 1);
    unthinned_.Add(seconds, (stopped - stopped_at_govern_).seconds() * slowdown_);
    slowdown_for_stops_ = std::clamp(unthinned_.share() * sharers / limits_.stopped, 1.0, kMaxSlowdown);
  }
  slowdown_ = std::max(slowdown_for_cpu_, slowdown_for_stops_);
  if (slowdown_ > 1) {
    limit_ = slowdown_for_stops_ >= slowdown_for_cpu_ ? RateLimit::kStops : RateLimit::kCpu;
  }
  governed_ = now;
  cpu_at_govern_ = cpu;
  stopped_at_govern_ = stopped;
}

Nanos Pacer::Wait(Nanos until, const std::atomic<bool>& stop, bool wake_for_stops) {
  Nanos now = MonotonicNow();
  if (mean_ns_ <= 0) {
    return WaitLittle(now, until);
  }
  while (now < until && !stop.load(std::memory_order_relaxed)) {
    const Nanos nap = std::min(until, now + kLongestNap);
    if (wake_for_stops) {
      sigset_t child;
      sigemptyset(&child);
      sigaddset(&child, SIGCHLD);
      const Nanos length = nap - now;
      const timespec ts{.tv_sec = length.value / 1'000'000'000, .tv_nsec = length.value % 1'000'000'000};
      if (::sigtimedwait(&child, nullptr, &ts) == SIGCHLD) {
        return MonotonicNow();
      }
    } else {
      const timespec ts{.tv_sec = nap.value / 1'000'000'000, .tv_nsec = nap.value % 1'000'000'000};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr);
    }
    now = MonotonicNow();
  }
  return now;
}

}  // namespace ptrace_prof
