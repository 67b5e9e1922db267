// Decides when to sample, and keeps the limits on CPU and on the time for which the target is stopped.
//
// Intervals are drawn uniformly from half to one and a half of the mean, so that samples do not lock onto a loop of the
// target with the same period. An instant at which we wake more than 200 us late counts as late; instants skipped to
// catch up count as missed. Every 200 ms the CPU used is compared with the limit: the mean interval grows until the
// limit is kept, and shrinks back towards the requested one. The first half second, in which all code of the target is
// new, is exempt. The limit on stopped time is kept by what the stops of the last seconds would have come to at the
// requested rate.
//
// At the rate `max` the interval is the shortest that rounds keep on average over the whole target: the duration of a
// round depends on what the target does, its beginning must not. One per capture; one thread. Does not know what
// happens at an instant.
#pragma once

#include <atomic>
#include <cstdint>

#include "attach/base/types.h"
#include "daemon/collector/sample/round_times.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

class Pacer {
 public:
  struct Limits {
    double overhead = 0;                             // share of one core; 0: no limit
    double stopped = 0;                              // share of the target's time; 0: no limit
    const std::atomic<uint32_t>* sharers = nullptr;  // captures that share the limit; null: this one alone
  };

  // rate 0: as fast as possible.
  Pacer(double rate_hz, const Limits& limits);

  // First: the first instant of a new GIL or process. Next: the one after `instant`, which was reached at `now`.
  Nanos First(Nanos now);
  Nanos Next(Nanos instant, Nanos now);
  // Sleeps until `until` or until `stop` is set; returns the time. Sleeps at most 100 ms at a time, so that a stop
  // without a signal is noticed. `wake_for_stops`: SIGCHLD, which is blocked, ends the sleep too.
  Nanos Wait(Nanos until, const std::atomic<bool>& stop, bool wake_for_stops);
  // `stopped`: the longest total time for which one process of the target has been stopped so far.
  void Govern(Nanos now, Nanos stopped);

  uint64_t late() const { return late_; }
  uint64_t missed() const { return missed_; }
  uint64_t instants() const { return instants_; }
  // Instants per second of one GIL, on average so far.
  double rate_hz(Nanos now) const;
  RateLimit limit() const { return limit_; }  // the limit reached last

 private:
  // Recent share of stopped time.
  class Recent {
   public:
    void Add(double seconds, double stopped);
    double share() const { return seconds_ > 0 ? stopped_ / seconds_ : 0; }

   private:
    double seconds_ = 0;
    double stopped_ = 0;
  };

  Nanos WaitLittle(Nanos now, Nanos until);
  double Jitter();
  Nanos Interval();

  const double mean_ns_;
  const Limits limits_;
  double slowdown_ = 1;  // the larger of the two
  double slowdown_for_cpu_ = 1;
  double slowdown_for_stops_ = 1;
  Recent unthinned_;  // the stops as if no instant had been left out for a limit
  RateLimit limit_ = RateLimit::kNone;
  Nanos deadline_;  // at the rate `max`
  Nanos begin_;
  Nanos governed_;
  Nanos cpu_at_govern_;
  Nanos stopped_at_govern_;
  uint64_t random_;
  uint64_t late_ = 0;
  uint64_t missed_ = 0;
  uint64_t instants_ = 0;
  Nanos between_;      // sum of all intervals between instants
  RoundTimes rounds_;  // at the rate `max`
  uint64_t turns_ = 0;
  Nanos began_;
  Nanos usual_{};
  uint32_t rounds_since_usual_ = 0;
};

}  // namespace ptrace_prof
