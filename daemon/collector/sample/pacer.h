// When to sample: instants drawn beforehand, lateness, and the promise not to use more CPU than allowed.
//
// Intervals are drawn uniformly from half to one and a half of the mean, so that a loop of the target with the same
// period is not always met at the same place. An instant at which we wake more than 200 us late counts as late;
// instants that were skipped over to catch up count as missed. Every 200 ms the CPU used meanwhile is compared with
// what is allowed: the mean interval grows until it is kept, and shrinks back towards the asked one. The first half
// second, in which all code of the target is new, is exempt. The time for which the target stood still is kept by what
// the stops of the last seconds would have come to at the asked rate. At the rate `max` the interval is the shortest
// that rounds keep on average, wherever in the target they are: what a round takes depends on what the target does,
// when it begins must not. One per capture; one thread. Knows nothing about what an instant does.
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
    double overhead = 0;                             // share of one core; 0: none
    double stopped = 0;                              // share of the target's time; 0: none
    const std::atomic<uint32_t>* sharers = nullptr;  // captures that have this together; null: this one alone
  };

  // rate 0: as fast as may be.
  Pacer(double rate_hz, const Limits& limits);

  // The first instant of somebody who is new, and the one after `instant`, which was reached at `now`.
  Nanos First(Nanos now);
  Nanos Next(Nanos instant, Nanos now);
  // Sleeps until then, or until `stop`; returns now. Sleeps at most 100 ms at a time, so that a stop without a signal
  // is seen as well. `wake_for_stops`: a SIGCHLD, which is blocked, ends the sleep, too.
  Nanos Wait(Nanos until, const std::atomic<bool>& stop, bool wake_for_stops);
  // `stopped`: how long one process of the target has stood still so far, the most of all.
  void Govern(Nanos now, Nanos stopped);

  uint64_t late() const { return late_; }
  uint64_t missed() const { return missed_; }
  uint64_t instants() const { return instants_; }
  // Instants a second of one GIL, on average so far.
  double rate_hz(Nanos now) const;
  RateLimit limit() const { return limit_; }  // that was met last

 private:
  // What stops came to of late, as a share of the time.
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
  Recent unthinned_;  // stops, had none been left out for a limit
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
  Nanos between_;      // instants, all intervals together
  RoundTimes rounds_;  // at the rate `max`
  uint64_t turns_ = 0;
  Nanos began_;
  Nanos usual_{};
  uint32_t rounds_since_usual_ = 0;
};

}  // namespace ptrace_prof
